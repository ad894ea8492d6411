"""What is large: python -m benchmarks.scale [PART ..], each part by itself or all of them.

* ``qm9``: QM9 with explicit hydrogens, read from SMILES, then one epoch of order 2 (needs CCN_DATA).
* ``growth``: a forward and backward pass over ever more molecule-like graphs in one batch.
* ``epoch``: an epoch over many more of them in batches.
* ``mesh``: a triangulated grid as one graph, whose vertices have targets, trained at order 2.
* ``screening``: ``ccn predict --cluster`` on two workers, one of which is killed (needs CCN_DATA).
* ``chunks``: what client and scheduler spend on chunks that need no work, and the bytes moved (needs CCN_DATA).

The sizes are arguments. What is measured runs in new processes with one thread each. Processor seconds are those of all
threads of a process; on a busy machine they say more than seconds by the clock, and exponents and the projection are
made of them. Peak memory is resident memory. A part replaces its own rows in results/scale.json; results/scale.md and
the tables of docs/scale.md are made of the whole record, and a test compares them.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import itertools
import json
import math
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import torch
from torch import nn

import ccn
from benchmarks.__main__ import machine
from benchmarks.work import FEATURES, generated
from ccn.files import write_atomically, write_json
from ccn.reports.markup import markdown
from ccn.training.batches import Batches

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "benchmarks" / "results" / "scale.json"
TABLES = ROOT / "benchmarks" / "results" / "scale.md"
PAGE = ROOT / "docs" / "scale.md"
BEGIN, END = "<!-- scale: begin -->", "<!-- scale: end -->"
RATE = 1e-3
POOL = 420  # different generated graphs, about 10,000 vertices, which are repeated
Row = dict[str, Any]


# --- measuring


def alone(work: Callable[..., Row], *given: Any) -> Row:
    """The result of a function in a new process."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *given).result()


def resident(process: int | str = "self", peak: bool = False) -> int:
    """Bytes of memory that a process holds, or the most that it has held (Linux)."""
    key = "VmHWM:" if peak else "VmRSS:"
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(key))


def timed(work: Callable[[], Any]) -> tuple[Any, Row]:
    """The result, and seconds by the clock and of the processor."""
    began, processor = time.perf_counter(), time.process_time()
    found = work()
    return found, {"seconds": time.perf_counter() - began, "processor": time.process_time() - processor}


def exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """The slope of y against x where both axes are logarithmic."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def network(features: int, outputs: int = 1) -> ccn.CCN:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    return ccn.CCN(features, outputs, order=2, levels=2, channels=16)


def warm(net: ccn.CCN) -> int:
    """Compile what a step needs, on two small graphs; the memory that the process holds then."""
    x = torch.zeros(4, net.in_features)
    graphs = [ccn.Graph([(0, 1), (1, 2)], x[:3]), ccn.Graph([], x[:1])]
    net(graphs).sum().backward()
    net.embed(graphs, per="vertex").sum().backward()
    net.zero_grad()
    return resident()


# --- QM9 with hydrogens


def _qm9_file(rows: int, folder: Path) -> Path:
    """The first rows of QM9 in a file of its own."""
    there = Path(os.environ["CCN_DATA"]) / "qm9" / "qm9.csv.gz"
    path = folder / "qm9.csv.gz"
    with gzip.open(there, "rt") as source, gzip.open(path, "wt") as target:
        target.writelines(itertools.islice(source, rows + 1))
    return path


def _qm9_read(path: str, cache: str) -> Row:
    os.environ["CCN_CACHE"] = cache
    base = resident()
    data, took = timed(lambda: ccn.datasets.load("QM9", path=path, hydrogens=True))
    vertices = int(data.pack.sizes.sum())
    return {**took, "graphs": len(data), "vertices": vertices, "base": base, "peak": resident(peak=True)}


def _qm9_epoch(path: str, cache: str) -> Row:
    os.environ["CCN_CACHE"] = cache
    data = ccn.datasets.load("QM9", path=path, hydrogens=True)
    pack = data.pack.without_edge_features()
    targets = torch.from_numpy(data.targets).float()
    targets = (targets - targets.mean(0)) / targets.std(0).clamp_min(1e-6)
    net = network(pack.width, targets.shape[1])
    base, losses = warm(net), []
    optimiser = torch.optim.Adam(net.parameters(), 1e-3)

    def epoch() -> None:
        for b, rows in Batches(pack, np.arange(len(data)), 64, seed=0, prepare=net.prepare):
            optimiser.zero_grad()
            loss = (net(b) - targets[rows]).abs().mean()
            loss.backward()
            optimiser.step()
            losses.append(loss.item())

    _, took = timed(epoch)
    tenth = max(1, len(losses) // 10)
    return {
        **took, "graphs": len(data), "steps": len(losses), "base": base, "peak": resident(peak=True),
        "loss_first_tenth": float(np.mean(losses[:tenth])), "loss_last_tenth": float(np.mean(losses[-tenth:])),
    }  # fmt: skip


def qm9(given: argparse.Namespace) -> Row | None:
    """QM9 with hydrogens: reading it from SMILES by one process, then one epoch."""
    if not (Path(os.environ.get("CCN_DATA", "")) / "qm9" / "qm9.csv.gz").is_file():
        print("qm9 is skipped: CCN_DATA names no folder with qm9/qm9.csv.gz")
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = str(_qm9_file(given.qm9, Path(folder)))
        # Kernels are compiled elsewhere, so that the store of the data set is new and they are not.
        return {"reading": alone(_qm9_read, path, folder), "epoch": alone(_qm9_epoch, path, folder)}


# --- growth


def _step(vertices: int) -> Row:
    """One forward and backward pass over at least so many vertices in one batch, and what it takes before."""
    pool = ccn.Pack.of(generated(POOL))
    net = network(FEATURES)
    base = warm(net)
    graphs = -(-vertices * len(pool) // int(pool.sizes.sum()))
    pack = pool.select(np.arange(graphs) % len(pool))

    def prepared() -> ccn.Batch:
        b = pack.batch()
        net.prepare(b)
        return b

    b, before = timed(prepared)
    _, step = timed(lambda: net(b).square().mean().backward())
    return {
        "vertices": b.n, "graphs": graphs, "prepare": before, "step": step, "base": base, "peak": resident(peak=True)
    }  # fmt: skip


def _stream(vertices: int, size: int = 256) -> Row:
    """One epoch over so many vertices in batches, and the memory after every tenth of it."""
    pool = ccn.Pack.of(generated(POOL))
    net = network(FEATURES)
    base = warm(net)
    graphs = -(-vertices * len(pool) // int(pool.sizes.sum()))
    optimiser = torch.optim.Adam(net.parameters(), 1e-3)
    memory: list[int] = []
    seen = 0

    def epoch() -> None:
        nonlocal seen
        batches = Batches(pool, np.arange(graphs) % len(pool), size, seed=0, prepare=net.prepare)
        for i, (b, _) in enumerate(batches, 1):
            optimiser.zero_grad()
            net(b).square().mean().backward()
            optimiser.step()
            seen += b.n
            if 10 * i // len(batches) > len(memory):
                memory.append(resident())

    _, took = timed(epoch)
    return {
        **took, "vertices": seen, "graphs": graphs, "batch": size, "base": base, "memory": memory,
        "peak": resident(peak=True),
    }  # fmt: skip


def growth(given: argparse.Namespace) -> Row:
    """Steps over one batch that grows to the largest."""
    sizes = [max(1, round(given.vertices / 10 ** (i / 2))) for i in range(4, -1, -1)]
    steps = [alone(_step, size) for size in sizes]
    x = [r["vertices"] for r in steps]
    return {
        "steps": steps,
        "time_exponent": exponent(x, [r["step"]["processor"] for r in steps]),
        "prepare_exponent": exponent(x, [r["prepare"]["processor"] for r in steps]),
        "memory_exponent": exponent(x, [max(1, r["peak"] - r["base"]) for r in steps]),
    }


def epoch(given: argparse.Namespace) -> Row:
    """An epoch over more vertices than a batch could hold."""
    return alone(_stream, given.stream)


# --- a mesh


def triangulated(vertices: int) -> tuple[int, np.ndarray]:
    """About so many vertices in a grid whose squares are cut into two triangles: their number, and the edges."""
    height = max(2, math.isqrt(vertices))
    v = np.arange(height * max(2, vertices // height)).reshape(height, -1)
    ends = ((v[:, :-1], v[:, 1:]), (v[:-1], v[1:]), (v[:-1, :-1], v[1:, 1:]))
    return v.size, np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in ends])


def _mesh(vertices: int, steps: int) -> Row:
    """Train on one mesh to predict, for each vertex, the mean over its neighbours of a number that they have."""
    count, edges = triangulated(vertices)
    x = np.random.default_rng(0).normal(size=(count, 4)).astype(np.float32)
    net = network(4)
    head = nn.Linear(net.embed(ccn.Graph([], torch.zeros(1, 4)), per="vertex").shape[1], 1)
    base = warm(net)
    degree = np.bincount(edges.ravel(), minlength=count)
    y = sum(np.bincount(a, x[b, 0], count) for a, b in (edges.T, edges[:, ::-1].T)) / degree
    target = torch.from_numpy(np.asarray(y)).float()[:, None]
    pack = ccn.Pack.of_edges([count], [len(edges)], edges, x)

    def prepared() -> ccn.Batch:
        b = pack.batch()
        net.prepare(b)
        return b

    b, before = timed(prepared)
    with torch.no_grad():  # so that the head reads numbers of the size of one
        rows = net.embed(b, per="vertex")
        mean, deviation = rows.mean(0), rows.std(0).clamp_min(1e-3)
    groups = [{"params": net.parameters(), "lr": RATE / 10}, {"params": head.parameters(), "lr": RATE}]
    optimiser = torch.optim.Adam(groups)
    losses: list[float] = []

    def run() -> None:
        optimiser.zero_grad()
        loss = (head((net.embed(b, per="vertex") - mean) / deviation) - target).square().mean()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())

    took = [timed(run)[1] for _ in range(steps)]
    return {
        "vertices": count, "edges": len(edges), "largest_degree": int(degree.max()), "prepare": before,
        "losses": losses, "step": {key: float(np.median([t[key] for t in took])) for key in took[0]},
        "base": base, "peak": resident(peak=True),
    }  # fmt: skip


def mesh(given: argparse.Namespace) -> Row:
    """One graph of bounded degree at order 2."""
    return alone(_mesh, given.mesh, given.steps)


# --- screening


def _has_zinc(part: str) -> bool:
    found = (Path(os.environ.get("CCN_DATA", "")) / "zinc" / "zinc250k.smi.gz").is_file()
    if not found:
        print(f"{part} is skipped: CCN_DATA names no folder with zinc/zinc250k.smi.gz")
    return found


def _molecules(rows: int, folder: Path) -> Path:
    """A table of molecules of ZINC, repeated, with a running number."""
    with gzip.open(Path(os.environ["CCN_DATA"]) / "zinc" / "zinc250k.smi.gz", "rt") as file:
        smiles = [line.split()[0] for line in file if line.strip()]
    path = folder / "molecules.csv"
    with path.open("w", encoding="utf-8") as table:
        table.write("number,smiles\n")
        table.writelines(f"{i},{text}\n" for i, text in zip(range(rows), itertools.cycle(smiles), strict=False))
    return path


def _model(folder: Path) -> Path:
    """A network as ``ccn train --method ccn`` makes it, hardly trained: predictions take as long."""
    from ccn.estimators import CCNRegressor

    smiles = [f"{'C' * (1 + i // 6)}{('O', 'N', 'F', 'c1ccccc1', 'Cl', 'S')[i % 6]}" for i in range(64)]
    fitted = CCNRegressor(method="ccn", epochs=1, random_state=0).fit(smiles, np.arange(64) % 7.0)
    return fitted.save(folder / "model.safetensors")


class Watch:
    """What a scheduler in this process sees: chunks answered and by whom, chunks lost with a worker, new workers."""

    def __init__(self) -> None:
        self.answered: list[tuple[float, str]] = []  # when, and by which worker
        self.lost: list[str] = []  # chunks that were in work when their worker died
        self.joined: dict[str, float] = {}

    def plugin(self) -> Any:
        from distributed.diagnostics.plugin import SchedulerPlugin

        watch = self

        class Plugin(SchedulerPlugin):  # type: ignore[misc]
            name = "benchmarks.scale"

            def add_worker(self, scheduler: Any, worker: str) -> None:
                watch.joined[worker] = time.monotonic()

            def transition(self, key: Any, start: str, finish: str, *args: Any, **more: Any) -> None:
                if not str(key).startswith("_ask_content"):
                    return
                if start == "processing" and finish == "memory":
                    watch.answered.append((time.monotonic(), str(more.get("worker"))))
                elif start == "processing" and finish in ("released", "waiting"):
                    watch.lost.append(str(key))

        return Plugin()


class Processors:
    """Processor seconds of processes, also of those that have ended since they were last asked."""

    def __init__(self) -> None:
        self.of: dict[int, float] = {}

    @property
    def total(self) -> float:
        return sum(self.of.values())

    def ask(self, numbers: Sequence[int]) -> None:
        import psutil

        for number in numbers:
            with suppress(psutil.Error):
                times = psutil.Process(number).cpu_times()
                self.of[number] = times.user + times.system


def _rows_in(part: Path) -> int:
    """About how many rows of a growing table are written, by what its last complete line says."""
    with suppress(OSError), part.open("rb") as file:
        file.seek(max(0, part.stat().st_size - 4096))
        lines = file.read().splitlines()[:-1]
        with suppress(IndexError, ValueError):
            return int(lines[-1].split(b",")[0]) + 1
    return 0


def _echo(texts: Any, answer: Any) -> Any:
    """What a chunk takes but for the work."""
    return answer


def per_chunk(folder: Path, chunk: int, times: int = 200) -> Row:
    """Processor seconds that a client and a scheduler, both in this process, take for a chunk, and the bytes moved."""
    from distributed import Client, LocalCluster

    from ccn.learning import model_file
    from ccn.runs.answers import Question
    from ccn.runs.workers import ask

    model = _model(folder)
    with _molecules(chunk, folder).open(encoding="utf-8") as file:
        texts = [row["smiles"] for row in itertools.islice(csv.DictReader(file), chunk)]
    answer = ask(Question(), model_file.load(model), (texts, None))
    there, back = (len(pickle.dumps(x, protocol=5)) for x in ((Question(), (texts, None)), answer))
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        client.submit(_echo, texts, answer, pure=False).result()

        def run() -> None:
            waiting = [client.submit(_echo, texts, answer, pure=False) for _ in range(6)]
            for _ in range(times):
                waiting.pop(0).result()
                waiting.append(client.submit(_echo, texts, answer, pure=False))

        _, took = timed(run)
    return {
        "rows": chunk, "processor": took["processor"] / times, "there": there, "back": back,
        "model": model.stat().st_size,
    }  # fmt: skip


def chunks(given: argparse.Namespace) -> Row | None:
    """What the cluster costs beside the work."""
    if not _has_zinc("chunks"):
        return None
    with tempfile.TemporaryDirectory() as folder:
        return per_chunk(Path(folder), given.chunk)


def _predict(model: Path, table: Path, out: Path, chunk: int, *words: str) -> subprocess.Popen[bytes]:
    options = ["--chunk", str(chunk), "--quiet", *words]
    return subprocess.Popen([sys.executable, "-m", "ccn", "predict", str(model), str(table), "-o", str(out), *options])


def _compared(table: Path, out: Path, here: Path, blocks: Sequence[int], chunk: int) -> tuple[int, int, int]:
    """Rows that came out once and in their place, and of the sampled chunks the rows and those that differ."""
    right = sampled = other = 0
    with table.open(encoding="utf-8") as source, out.open(encoding="utf-8") as found, here.open(encoding="utf-8") as h:
        next(source), next(found), next(h)
        for i, (line, answer) in enumerate(itertools.zip_longest(source, found)):
            if line is None or answer is None or not answer.startswith(f"{line.rstrip()},"):
                continue
            right += 1
            if i // chunk in blocks:
                sampled += 1
                other += next(h) != answer
    return right, sampled, other


def _lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as file:
        yield from file


def screening(given: argparse.Namespace) -> Row | None:
    """``ccn predict --cluster`` with two workers, one of which is killed halfway."""
    if not _has_zinc("screening"):
        return None
    with tempfile.TemporaryDirectory() as folder:
        return screen(Path(folder), given.molecules, given.chunk)


def screen(folder: Path, rows: int, chunk: int) -> Row:
    """The same in a folder."""
    from distributed import LocalCluster

    table, model, out = _molecules(rows, folder), _model(folder), folder / "out.csv"
    watch, client, workers = Watch(), Processors(), Processors()
    samples: list[Row] = []
    killed, at = 0, math.inf
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=60
    ) as cluster:
        cluster.scheduler.add_plugin(watch.plugin())
        began = time.monotonic()
        run = _predict(model, table, out, chunk, "--cluster", cluster.scheduler_address)
        while run.poll() is None:
            numbers = [nanny.pid for nanny in cluster.workers.values() if nanny.pid]
            workers.ask(numbers)
            client.ask([run.pid])
            done = _rows_in(folder / "out.csv.part")
            with suppress(OSError, StopIteration):  # it may have ended meanwhile
                samples.append(
                    {
                        "rows": done,
                        "memory": resident(run.pid),
                        "client": client.total,
                        "workers": workers.total,
                    }
                )
            if not killed and 2 * done >= rows:
                killed, at = done, time.monotonic()
                os.kill(numbers[0], signal.SIGKILL)
            time.sleep(0.1)
        seconds = time.monotonic() - began
    if run.returncode or not killed:
        raise SystemExit(f"ccn predict --cluster ended with {run.returncode}, with a worker killed after {killed} rows")
    chunks = -(-rows // chunk)
    blocks = sorted({0, chunks // 4, killed // chunk, min(chunks - 1, killed // chunk + 1), chunks - 1})
    some, here = folder / "some.csv", folder / "here.csv"
    chosen = (line for i, line in enumerate(_lines(table), -1) if i < 0 or i // chunk in blocks)
    some.write_text("".join(chosen), encoding="utf-8")
    if _predict(model, some, here, chunk, "--processes", "1").wait():
        raise SystemExit("ccn predict failed")
    right, sampled, other = _compared(table, out, here, blocks, chunk)
    later = {worker: when for worker, when in watch.joined.items() if when > at}
    first = min((when for when, worker in watch.answered if worker in later), default=None)
    steady = [sample for sample in samples if 10 * sample["rows"] >= rows]
    return {
        "rows": rows, "chunk": chunk, "chunks": chunks, "workers": 2, "once": right, "sampled": sampled,
        "different": other, "seconds": seconds, "killed_after": killed, "recomputed": len(watch.lost),
        "joined_seconds": min(later.values()) - at if later else None,
        "answering_seconds": None if first is None else first - at,
        "begin": steady[0], "end": steady[-1], "most_memory": max(sample["memory"] for sample in steady),
    }  # fmt: skip


# --- the projection


MACHINES, CORES, BILLION = 100, 32, 1_000_000_000
NETWORK = 125_000_000  # bytes per second that the client's machine receives and sends: 1 Gbit/s
LIVES = 1_000  # hours between deaths of a machine
SILENT = 300.0  # seconds until Dask gives up a worker that says nothing, by default


def projection(found: Row, each: Row, machines: int = MACHINES, cores: int = CORES, molecules: int = BILLION) -> Row:
    """What :func:`screen` found, and :func:`per_chunk` for ``each`` chunk, give for a larger cluster.

    Seconds, unless said otherwise; every figure of the result follows from the arguments.
    """
    begin, end, chunk, workers = found["begin"], found["end"], found["chunk"], machines * cores
    rows = end["rows"] - begin["rows"]
    spent = {who: end[who] - begin[who] for who in ("client", "workers")}
    rate = rows / spent["workers"]
    moved = (each["there"] + each["back"]) / each["rows"]
    compute = molecules / (rate * workers)
    serial = {
        "client": molecules * spent["client"] / rows,
        "scheduler": molecules / chunk * each["processor"],
        "network": molecules * moved / NETWORK,
    }
    slowest = max(serial.values())
    clients = max(1, math.ceil(slowest / compute))
    took = max(compute, slowest / clients)
    deaths = machines * took / 3600 / LIVES
    # What a dead machine had in work is computed again, and its cores are missing until others answer in their place.
    missing = next((found[key] for key in ("answering_seconds", "joined_seconds") if found[key] is not None), 0.0)
    death = cores * (chunk / rate + missing)
    return {
        "machines": machines, "cores": cores, "molecules": molecules, "network": NETWORK, "lives": LIVES,
        "rows_per_core": rate, "client_per_row": spent["client"] / rows,
        "scheduler_per_chunk": each["processor"], "bytes_per_row": moved,
        "compute": compute, "serial": serial, "one_client": max(compute, slowest),
        "clients": clients, "seconds": took, "deaths": deaths, "core_seconds_per_death": death,
        "lost": deaths * death / workers,
        "silent": SILENT,
    }  # fmt: skip


# --- the record as text


def _duration(seconds: float) -> str:
    """Seconds in a unit that is easily read."""
    for unit, least in (("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3)):
        if seconds >= 2 * least:
            return f"{seconds / least:,.{0 if seconds >= 100 * least else 1}f} {unit}"
    return f"{seconds * 1e6:,.1f} µs"


def _took(row: Row) -> str:
    return f"{_duration(row['seconds'])} ({_duration(row['processor'])} of the processor)"


def _mb(size: float) -> str:
    return f"{size / 1e6:,.0f} MB"


def _measured(part: Row) -> str:
    """Where a part was measured, and how much other work the machine did meanwhile."""
    return (
        f"{part['cpu']}, {part['cores']} cores, of whose time other processes used {part['others']:.0%}; "
        f"PyTorch {part['torch']}, ccn {part['ccn']}."
    )


def _qm9_text(part: Row) -> str:
    reading, epoch = part["reading"], part["epoch"]
    rows = [
        [name, _took(r), f"{r['graphs'] / r['seconds']:,.0f}", f"{r['graphs'] / r['processor']:,.0f}", _mb(r["peak"])]
        for name, r in (("reading SMILES", reading), ("one epoch", epoch))
    ]
    return (
        f"{reading['graphs']:,} molecules with {reading['vertices']:,} atoms, hydrogens included; an epoch of "
        f"{epoch['steps']:,} steps of 64 molecules. The mean absolute error of the scaled targets fell from "
        f"{epoch['loss_first_tenth']:.3f} in the first tenth of the epoch to {epoch['loss_last_tenth']:.3f} in the last"
        ".\n\n" + markdown(["", "time", "molecules per second", "per processor second", "peak memory"], rows)
    )


def _growth_text(part: Row) -> str:
    rows = [
        [
            f"{r['vertices']:,}",
            _took(r["prepare"]),
            _took(r["step"]),
            f"{r['vertices'] / (r['prepare']['processor'] + r['step']['processor']):,.0f}",
            _mb(r["peak"]),
            f"{(r['peak'] - r['base']) / r['vertices'] / 1e3:.1f}",
        ]
        for r in part["steps"]
    ]
    head = ["vertices", "batch and index maps", "step", "vertices per processor second", "peak memory", "kB per vertex"]
    return (
        "Generated graphs of 18 to 30 vertices, of which "
        f"{POOL} are different and repeated, in one batch.\n\n{markdown(head, rows)}\n\n"
        f"Exponents against vertices, by processor time: step {part['time_exponent']:.2f}, batch and index maps "
        f"{part['prepare_exponent']:.2f}; peak memory beyond what the process held before "
        f"{part['memory_exponent']:.2f}."
    )


def _epoch_text(part: Row) -> str:
    held = part["memory"]
    return (
        f"{part['vertices']:,} vertices in {part['graphs']:,} graphs, {part['batch']} to a batch: the same {POOL} "
        "generated graphs repeated in random order, every batch and its index maps made anew. The epoch took "
        f"{_took(part)}. The process held {_mb(held[0])} after a tenth of it and {_mb(held[-1])} at the end, "
        f"{_mb(part['peak'])} at most, of which "
        f"{_mb(part['base'])} before."
    )


def _mesh_text(part: Row) -> str:
    losses = " → ".join(f"{loss:.3f}" for loss in part["losses"])
    return (
        f"One triangulated grid of {part['vertices']:,} vertices and {part['edges']:,} edges, degree at most "
        f"{part['largest_degree']}; the target of a vertex is the mean of a number over its neighbours, read from the "
        f"invariants of its nodes. Loss: {losses}. A step took {_took(part['step'])}, batch and index maps once "
        f"{_took(part['prepare'])}; peak memory {_mb(part['peak'])}, {_mb(part['base'])} of it before."
    )


def _screening_text(part: Row) -> str:
    begin, end = part["begin"], part["end"]
    rows = [
        ["rows in, rows that came out once and in place", f"{part['rows']:,}, {part['once']:,}"],
        ["rows compared with `--processes 1`, and different", f"{part['sampled']:,}, {part['different']:,}"],
        ["molecules per second by the clock, two workers", f"{part['rows'] / part['seconds']:,.0f}"],
        ["worker killed after", f"{part['killed_after']:,} rows"],
        ["chunks computed again", f"{part['recomputed']:,} of {part['chunks']:,}"],
    ]
    for key, what in (("joined_seconds", "another worker in its place"), ("answering_seconds", "its first answer")):
        rows.append([f"{what} after", "not before the end" if part[key] is None else _duration(part[key])])
    rows += [
        ["memory of the client after a tenth of the rows", _mb(begin["memory"])],
        ["at the end", _mb(end["memory"])],
        ["at most in between", _mb(part["most_memory"])],
    ]
    return (
        "ZINC's molecules, repeated, with a running number; one network of the method `ccn` with its default settings; "
        f"chunks of {part['chunk']:,} rows, two workers of one thread. A worker is killed halfway.\n\n"
        + markdown(["", "measured"], rows)
    )


def _chunks_text(part: Row) -> str:
    return (
        f"A chunk of {part['rows']:,} molecules that needs no work takes client and scheduler together "
        f"{_duration(part['processor'])} of a processor. Its molecules are {part['there']:,} bytes, the predictions "
        f"{part['back']:,}, the model, which each worker gets once, {part['model']:,}."
    )


def _projection_text(p: Row) -> str:
    rows = [
        ["molecules per second of a core", f"{p['rows_per_core']:,.0f}", _duration(p["compute"]), "all cores together"],
        *(
            [name, each, _duration(p["serial"][key]), "one, for all rows"]
            for key, name, each in (
                ("client", "the client: reading, ordering, writing", f"{_duration(p['client_per_row'])} per row"),
                (
                    "scheduler",
                    "the scheduler (chunks that need no work)",
                    f"{_duration(p['scheduler_per_chunk'])} per chunk",
                ),
                ("network", "the network of the client", f"{p['bytes_per_row']:,.0f} bytes per row"),
            )
        ),
    ]
    return (
        f"{p['molecules']:,} molecules on {p['machines']} machines of {p['cores']} cores, from what the screening "
        "measured after its first tenth:\n\n"
        + markdown(["part", "measured", "for all molecules", "done by"], rows, "lrrl")
        + f"\n\nWith one client everything takes {_duration(p['one_client'])}, since the slowest part sets the pace. "
        f"With the table in {p['clients']} pieces, each with a client and a scheduler of its own, it takes "
        f"{_duration(p['seconds'])}. In that time {p['deaths']:.2g} machines die on average; each costs "
        f"{_duration(p['core_seconds_per_death'])} of a core's time, so that all deaths together prolong the run by "
        f"{_duration(p['lost'])}. A machine that vanishes without closing its connections is noticed after "
        f"{_duration(p['silent'])} (`distributed.scheduler.worker-ttl`); its client waits, since rows are written in "
        "order.\n\n"
        f"Assumed: cores like the one measured, not shared with other work; {p['network'] / 125e6:g} Gbit/s at each "
        f"client, which has a core to itself, as has its scheduler, beside the {p['machines']} machines; a machine "
        f"dies once in {p['lives']:,} hours, and another one takes its place as fast as the killed worker's successor; "
        "the file system keeps up with the clients; molecules are as large as ZINC's; starting up is not counted; the "
        "time of the scheduler grows with chunks and not with workers."
    )


TEXTS: dict[str, tuple[str, Callable[[Row], str]]] = {
    "qm9": ("QM9 with hydrogens", _qm9_text),
    "growth": ("Growth of one batch", _growth_text),
    "epoch": ("An epoch in batches", _epoch_text),
    "mesh": ("A mesh", _mesh_text),
    "screening": ("Screening with a worker lost", _screening_text),
    "chunks": ("What a chunk costs beside the work", _chunks_text),
}


def rendered(record: Row) -> str:
    """The record as text, in the order of the parts."""
    parts = []
    for name, (title, text) in TEXTS.items():
        if name in record:
            parts += [f"## {title}", text(record[name]), _measured(record[name])]
    if "projection" in record:
        parts += [
            "## Projection on paper to 100 machines and a billion molecules",
            _projection_text(record["projection"]),
        ]
    return "\n\n".join(parts)


PARTS: dict[str, Callable[[argparse.Namespace], Row | None]] = {
    "qm9": qm9,
    "growth": growth,
    "epoch": epoch,
    "mesh": mesh,
    "screening": screening,
    "chunks": chunks,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; by default all")
    sizes = {
        "qm9": (200_000, "molecules of QM9 at most"),
        "vertices": (1_000_000, "vertices of the largest batch"),
        "stream": (10_000_000, "vertices of the epoch in batches"),
        "mesh": (200_000, "vertices of the mesh"),
        "steps": (8, "training steps on the mesh"),
        "molecules": (1_000_000, "rows to screen"),
        "chunk": (1_000, "rows per chunk of the screening"),
    }
    for name, (size, what) in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=size, help=f"{what}; by default {size:,}")
    given = parser.parse_args()
    if unknown := [name for name in given.parts if name not in PARTS]:
        parser.error(f"{unknown[0]}: choose from {', '.join(PARTS)}")
    for name in given.parts or PARTS:
        print(f"{name} ..", flush=True)
        here = {key: value for key, value in machine().items() if key != "load_before"}
        began, before = time.monotonic(), _others()
        if (found := PARTS[name](given)) is not None:
            others = (_others() - before) / (time.monotonic() - began) / (os.cpu_count() or 1)
            record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.is_file() else {}
            record[name] = {**here, "others": max(0.0, others), **found}
            if "screening" in record and "chunks" in record:
                record["projection"] = projection(record["screening"], record["chunks"])
            write_json(RECORD, record)
            write(record)
            print(TEXTS[name][1](record[name]), flush=True)


def _others() -> float:
    """Seconds of processor time that this process and those it has waited for have not used."""
    machine = psutil.cpu_times()
    return float(machine.user + machine.nice + machine.system) - sum(os.times()[:4])


def write(record: Row) -> None:
    """The tables, beside the record and between the marks of the page."""
    text = rendered(record)
    write_atomically(TABLES, f"# Scale\n\nWritten by `python -m benchmarks.scale`.\n\n{text}\n".encode())
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    write_atomically(PAGE, f"{before}{BEGIN}\n{text}\n{END}{after}".encode())


if __name__ == "__main__":
    main()

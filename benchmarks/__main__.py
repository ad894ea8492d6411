"""Run all measurements and write ``results/latest.json``, ``results/latest.md`` and the plots: ``make bench``."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import ccn
from benchmarks.measure import build, cores, forward_only, interleaved, limited, peak_memory
from benchmarks.reading import reading
from benchmarks.work import FEATURES, generated, molecules, regular
from benchmarks.yardsticks import GIN, Naive, copy_of, training_step
from ccn.files import write_json
from ccn.reports.markup import Bold, markdown
from ccn.training.batches import Batches

RESULTS = Path(__file__).parent / "results"
Row = dict[str, Any]


def _net(**options: Any) -> ccn.CCN:
    torch.manual_seed(0)
    return ccn.CCN(FEATURES, 1, **{"channels": 16, **options})


def _step(net: ccn.CCN, b: ccn.Batch) -> Callable[[], None]:
    return training_step(lambda: net(b), list(net.parameters()))


def machine() -> Row:
    """What the figures were measured on."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        cpu = platform.processor()
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "ccn": ccn.__version__,
        "load_before": os.getloadavg()[0],
    }


def goals(graphs: list[ccn.Graph], both_cores: float) -> list[Row]:
    """The goals of the engine, each with its limit, on one core; ``both_cores`` is what a second one can give."""
    b, gin, net = ccn.batch(graphs), GIN(graphs), _net()
    one, three = _net(order=1), _net(order=3)
    presets = {name: _net(contractions=name) for name in ("paper10", "all")}
    activations = [a.data.detach() for a in net.activations(b)]
    work = {
        "gin step": training_step(gin, list(gin.parameters())),
        "gin forward": forward_only(gin),
        "step": _step(net, b),
        "forward": forward_only(lambda: net(b)),
        "order 1": _step(one, b),
        **{name: _step(p, b) for name, p in presets.items()},
        "copy": copy_of(activations),
    }
    t = interleaved(work, 15, budget=25)
    maps = interleaved({"gin step": work["gin step"], "maps": lambda: build(net, graphs)}, 10, budget=10)
    order3 = interleaved({"step": work["step"], "order 3": _step(three, b)}, 2, budget=25)
    few, naive = graphs[:3], Naive()
    slow = interleaved({"naive": training_step(lambda: naive(few), list(naive.parameters()))}, 1)["naive"] / len(few)
    wide = generated(1024, seed=1)
    both = interleaved({str(threads): _threaded(net, wide, threads) for threads in (1, 2)}, 11, budget=20)
    torch.set_num_threads(1)
    epochs = _epochs(net, wide)
    peak = peak_memory()
    beyond = peak["peak"] - peak["before"]

    return [
        limited("training step / GIN training step", t["step"] / t["gin step"], most=2.2),
        limited("forward / GIN forward", t["forward"] / t["gin forward"], most=6),
        limited("naive training step / ours, per graph", slow / (t["step"] / len(graphs)), least=500),
        limited("batch and index maps / GIN training step", maps["maps"] / maps["gin step"], most=2),
        limited("paper10 step / distinct step", t["paper10"] / t["step"], most=1),
        limited("all step / distinct step", t["all"] / t["step"], most=1.05),
        limited("order 1 step / GIN training step", t["order 1"] / t["gin step"], most=1),
        limited("order 3 step / order 2 step", order3["order 3"] / order3["step"], most=20),
        limited("peak memory of a step / bytes of activations", beyond / peak["activations"], most=4),
        limited("index maps / bytes of activations", peak["maps"] / peak["activations"], most=2),
        limited("one thread / two threads, 1,024 graphs", both["1"] / both["2"], least=0.9 * both_cores),
        limited("epoch in a new order / epoch of the same batches", epochs["shuffled"] / epochs["fixed"], most=1.25),
        limited("epoch without memory for batches / with it", epochs["beyond"] / epochs["fixed"], most=1.5),
        limited("counting, two processes / one: what two cores give", both_cores),
        limited("training step / copy of all activations", t["step"] / t["copy"]),
        limited("graphs per second, training", len(graphs) / t["step"]),
        limited("graphs per second, forward", len(graphs) / t["forward"]),
    ]


def widths_and_sizes(sweep: list[Row]) -> list[Row]:
    """Goals about rows of the sweep, by what these measure."""
    step = {row["what"]: row["step"] for row in sweep}
    return [
        limited("batch of 16: training step / GIN training step", step["batch of 16"], most=2),
        limited("8 channels / 16 channels, training step", step["8 channels"] / step["16 channels"], most=1),
        limited("64 channels, mixing of rank 1: step / GIN step", step["64 channels, mixing of rank 1"], most=8),
    ]


def _threaded(net: ccn.CCN, graphs: list[ccn.Graph], threads: int) -> Callable[[], None]:
    """A training step with this many threads."""
    torch.set_num_threads(threads)  # before the batch is made: the size of its blocks depends on it
    step = _step(net, ccn.batch(graphs))

    def run() -> None:
        torch.set_num_threads(threads)
        step()

    return run


def _epochs(net: ccn.CCN, graphs: list[ccn.Graph]) -> dict[str, float]:
    """Seconds of an epoch: with the same batches every time, kept in memory; in a new order every time; and with the
    same batches, but no memory to keep them.
    """
    pack, rows = ccn.Pack.of(graphs), np.arange(len(graphs))
    kinds = {
        "fixed": Batches(pack, rows, 128, prepare=net.prepare),
        "shuffled": Batches(pack, rows, 128, seed=0, prepare=net.prepare),
        "beyond": Batches(pack, rows, 128, prepare=net.prepare, budget=0),
    }
    epoch = iter(range(1000))

    def run(batches: Batches) -> None:
        for b, _ in batches.epoch(next(epoch)):
            _step(net, b)()

    return interleaved({name: partial(run, batches) for name, batches in kinds.items()}, 7, budget=20)


def sweep(graphs: list[ccn.Graph]) -> list[Row]:
    """Forward pass and training step as multiples of the GIN training step on the same batch."""
    settings: list[tuple[str, int, Row]] = [
        *(
            (f"order {k}, {p}", 256, {"order": k, "contractions": p})
            for k in (0, 1, 2)
            for p in ("paper10", "distinct", "all")
        ),
        ("order 3, distinct, 64 graphs", 64, {"order": 3}),
        *((f"{c} channels", 256, {"channels": c}) for c in (8, 16, 32, 64)),
        *((f"64 channels, mixing of rank {r}", 256, {"channels": 64, "rank": r}) for r in (1, 2)),
        *((f"batch of {n}", n, {}) for n in (16, 64, 256, 1024)),
    ]
    pool = [*graphs, *generated(768, seed=2)]
    out = []
    for name, count, options in settings:
        chosen = pool[:count]
        b, net, gin = ccn.batch(chosen), _net(**options), GIN(chosen)
        work = {
            "gin": training_step(gin, list(gin.parameters())),
            "forward": forward_only(lambda net=net, b=b: net(b)),  # type: ignore[misc]
            "step": _step(net, b),
        }
        t = interleaved(work, 5, budget=6)
        parameters = sum(p.numel() for p in net.parameters())
        ratios = {"forward": t["forward"] / t["gin"], "step": t["step"] / t["gin"]}
        out.append({"what": name, "parameters": parameters, **ratios})
    return out


def real() -> list[Row]:
    """Training step on real molecules as a multiple of GIN's, if CCN_DATA has them."""
    out = []
    for name in ("qm9", "hcep"):
        graphs = molecules(name)
        if graphs is not None:
            b, net, gin = ccn.batch(graphs), _net(), GIN(graphs)
            work = {"gin": training_step(gin, list(gin.parameters())), "step": _step(net, b)}
            t = interleaved(work, 3, budget=12)
            out.append({"what": f"{name}, {len(graphs)} molecules", "step": t["step"] / t["gin"]})
    return out


def _work(net: ccn.CCN, b: ccn.Batch) -> float:
    """The work that a step should be linear in: entries of parent-child pairs, of nodes, and of A within parts."""
    total = 0.0
    for level in ccn.schemes.composition(b, net.scheme, net.levels).levels:
        k, m = net.orders[1], level.nodes.size
        nnz = np.diff(level.restrict(b.entries).start)
        total += float((level.below.size[level.stacked.child] ** k).sum() + (m**k).sum() + (nnz * m ** (k - 1)).sum())
    return total


def growth() -> dict[str, list[Row]]:
    """Seconds of a training step against the number of graphs, the part size, levels, channels."""

    def timed(net: ccn.CCN, graphs: list[ccn.Graph], x: float) -> Row:
        b = ccn.batch(graphs)
        seconds = interleaved({"step": _step(net, b)}, 3, budget=8)["step"]
        return {"x": x, "seconds": seconds, "work": _work(net, b)}

    pool = generated(4200, seed=3)
    count = [42, 130, 420, 1300, 4200]
    return {
        "vertices": [timed(_net(), pool[:n], float(sum(g.n for g in pool[:n]))) for n in count],
        "degree": [timed(_net(), regular(400, d), d) for d in (2, 3, 4, 5, 6, 8)],
        "levels": [timed(_net(levels=n), pool[:64], n) for n in (1, 2, 3, 4)],
        "channels": [timed(_net(channels=c), pool[:256], c) for c in (8, 16, 32, 64)],
    }


def _exponent(x: Sequence[float], y: Sequence[float]) -> float:
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def plot(curves: dict[str, list[Row]]) -> dict[str, dict[str, float]]:
    """Draw one picture per curve; returns the fitted exponents against x and against the work."""
    from matplotlib.figure import Figure

    fits = {}
    for name, rows in curves.items():
        x, y, work = ([r[key] for r in rows] for key in ("x", "seconds", "work"))
        fits[name] = {"against x": _exponent(x, y)}
        if name != "channels":
            fits[name]["against work"] = _exponent(work, y)
        figure = Figure(figsize=(5, 3.6), layout="constrained")
        axes = figure.add_subplot()
        axes.loglog(x, [1000 * s for s in y], "o-")
        axes.set_xlabel(name)
        axes.set_ylabel("training step (ms)")
        shown = ", ".join(f"exponent {key} {value:.2f}" for key, value in fits[name].items())
        axes.set_title(shown, fontsize=10)
        axes.grid(True, which="both", alpha=0.3)
        figure.savefig(RESULTS / f"growth_{name}.png", dpi=120)
    return fits


def report(results: Row) -> str:
    """The results as Markdown."""
    m = results["machine"]
    met = {True: "yes", False: Bold("no"), None: ""}
    goals, reading = (
        [[r["what"], f"{r['value']:,.2f}", r["limit"], met[r["met"]]] for r in results[name]]
        for name in ("goals", "reading")
    )
    columns = {"parameters": ",", "forward": ".2f", "step": ".2f"}
    multiples = [
        [r["what"], *(format(r[key], form) if key in r else "" for key, form in columns.items())]
        for r in (*results["sweep"], *results["real"])
    ]
    growth = [
        [name, *(f"{fit[key]:.2f}" if key in fit else "" for key in ("against x", "against work"))]
        for name, fit in results["exponents"].items()
    ]
    parts = [
        "# Latest results",
        (
            f"{m['cpu']}, {m['cores']} cores, Python {m['python']}, PyTorch {m['torch']}, ccn {m['ccn']}; load before "
            f"the run {m['load_before']:.2f}; {results['seconds']:.0f} s in total. Written by `make bench`."
        ),
        "## Goals: one core, float32, 16 channels, 2 levels, 26 contractions, 256 generated graphs",
        markdown(["", "measured", "limit", "met"], goals, "lrll"),
        "## Reading molecules of HCEP, on one core unless it says two, and first use",
        markdown(["", "measured", "limit", "met"], reading, "lrll"),
        "## Multiples of the GIN training step on the same batch",
        f"The GIN is 64 channels wide and has {results['gin_parameters']:,} parameters.",
        markdown(["", "parameters", "forward", "training step"], multiples),
        "## Growth of the training step",
        markdown(["against", "exponent", "exponent against the work"], growth),
        "\n".join(f"![{name}](growth_{name}.png)" for name in results["exponents"]),
    ]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Measure everything on one core, except for the comparison of threads, and write the results."""
    torch.set_num_threads(1)
    RESULTS.mkdir(exist_ok=True)
    began = time.perf_counter()
    results: Row = {"machine": machine()}
    graphs, both_cores = generated(256), cores()
    steps: list[tuple[str, Callable[[], Any]]] = [
        ("goals", lambda: goals(graphs, both_cores)),
        ("sweep", lambda: sweep(graphs)),
        ("real", real),
        ("reading", lambda: reading(both_cores)),
        ("growth", growth),
    ]
    for name, run in steps:
        print(f"{name} ..", flush=True)
        results[name] = run()
        print(f"{name} done after {time.perf_counter() - began:.0f} s", flush=True)
    results["goals"] += widths_and_sizes(results["sweep"])
    results["gin_parameters"] = sum(p.numel() for p in GIN(graphs[:1]).parameters())
    results["exponents"] = plot(results["growth"])
    results["seconds"] = time.perf_counter() - began
    write_json(RESULTS / "latest.json", results)
    text = report(results)
    (RESULTS / "latest.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()

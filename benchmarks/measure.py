"""Measurements: medians of interleaved repeats, and peak memory in a separate process; how they are shown."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import torch

import ccn
from ccn.files import write_atomically
from ccn.models import CCN


def limited(what: str, value: float, *, most: float | None = None, least: float | None = None) -> dict[str, Any]:
    """A row of a table of measurements, with its limit and whether it is kept."""
    if most is not None:
        return {"what": what, "value": value, "limit": f"at most {round(most, 2):,g}", "met": value <= most}
    if least is not None:
        return {"what": what, "value": value, "limit": f"at least {round(least, 2):,g}", "met": value >= least}
    return {"what": what, "value": value, "limit": "", "met": None}


def write_between(page: Path, name: str, text: str) -> None:
    """Put a text between the marks ``<!-- name: begin -->`` and ``<!-- name: end -->`` of a page."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    after = rest.partition(end)[2]
    write_atomically(page, f"{before}{begin}\n{text}\n{end}{after}".encode())


def interleaved(work: Mapping[str, Callable[[], object]], repeats: int, budget: float = 20.0) -> dict[str, float]:
    """Median seconds of each piece of work, all run in turn, so that a slow moment of the machine affects all alike."""
    times: dict[str, list[float]] = {name: [] for name in work}
    began = time.perf_counter()
    for i in range(repeats + 2):
        for name, run in work.items():
            start = time.perf_counter()
            run()
            if i >= 2:  # the first two are warm-up
                times[name].append(time.perf_counter() - start)
        if i >= 4 and time.perf_counter() - began > budget:
            break
    return {name: median(t) for name, t in times.items()}


def forward_only(run: Callable[[], object]) -> Callable[[], None]:
    """The same without recording operations for gradients."""

    def quiet() -> None:
        with torch.no_grad():
            run()

    return quiet


_COUNT = """
import time
end, n = time.perf_counter() + 1, 0
while time.perf_counter() < end:
    n += 1
print(n)
"""


def cores() -> float:
    """How far two processes that only count get together, as a multiple of how far one gets; at best 2."""

    def counted(processes: int) -> int:
        command = [sys.executable, "-c", _COUNT]
        running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(processes)]
        return sum(int(p.communicate()[0]) for p in running)

    return median(counted(2) / counted(1) for _ in range(5))


def build(net: CCN, graphs: list[ccn.Graph]) -> int:
    """Batch and index maps from graphs, everything a training step needs; returns the maps' bytes."""
    return net.prepare(ccn.batch(graphs))


_PEAK = """
import json, resource, sys, threading, time
import torch
torch.set_num_threads(1)
import ccn
from ccn.engine.cpu.workspace import release
from benchmarks.measure import build
from benchmarks.work import generated
from benchmarks.yardsticks import training_step
graphs = generated({count})
net = ccn.CCN(16, 1, order={order}, channels=16)
b = ccn.batch(graphs)
maps = build(net, graphs)
with torch.no_grad():
    activations = sum(a.data.numel() * 4 for a in net.activations(b))
release()
small = ccn.batch(graphs[:2])
peaks = []
def watch():
    while True:
        peaks.append(resident())
        time.sleep(0.0005)
def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * resource.getpagesize()
training_step(lambda: net(small), list(net.parameters()))()  # libraries allocate and import what they need once
release()
before = resident()
threading.Thread(target=watch, daemon=True).start()
training_step(lambda: net(b), list(net.parameters()))()
peak = max(peaks)
print(json.dumps({{"activations": activations, "maps": maps, "before": before, "peak": peak}}))
"""


def peak_memory(order: int = 2, count: int = 256) -> dict[str, int]:
    """Bytes of activations and maps, and resident memory before and at the peak of a training step (Linux)."""
    code = _PEAK.format(order=order, count=count)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    result: dict[str, int] = json.loads(done.stdout)
    return result

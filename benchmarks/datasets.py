"""Complete data sets, for orientation: ``python -m benchmarks.datasets`` with ``CCN_DATA`` set.

Seconds to compile QM9 with hydrogens from SMILES, to load it again, and for one epoch on 80 % of QM9 and of NCI1 at
order 2 with 16 channels, in random order, on all cores. Writes ``results/datasets.json``.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import ccn
from benchmarks.yardsticks import training_step
from ccn.datasets import Dataset
from ccn.files import write_json
from ccn.training.batches import Batches

RESULTS = Path(__file__).parent / "results"


def epoch(data: Dataset, size: int) -> dict[str, Any]:
    """Seconds of an epoch on 80 % of a data set, after ten batches to warm up."""
    pack = data.pack
    chosen = np.random.default_rng(0).permutation(len(pack))[: int(0.8 * len(pack))]
    net = ccn.CCN(pack.width, 1, order=2, levels=2, channels=16)

    def run(rows: Any) -> float:
        began = time.perf_counter()
        for b, _ in Batches(pack, rows, size, seed=0, prepare=net.prepare).epoch(0):
            training_step(lambda b=b: net(b), list(net.parameters()))()  # type: ignore[misc]
        return time.perf_counter() - began

    run(chosen[: 10 * size])
    return {"graphs": len(chosen), "batch": size, "epoch_seconds": run(chosen)}


def main() -> None:
    """Measure, print and write."""
    out: dict[str, Any] = {"cores": os.cpu_count(), "threads": torch.get_num_threads(), "load": os.getloadavg()[0]}
    with tempfile.TemporaryDirectory() as cache:
        os.environ["CCN_CACHE"] = cache
        for key in ("compile_seconds", "load_again_seconds"):
            began = time.perf_counter()
            data = ccn.datasets.load("QM9", hydrogens=True)
            out.setdefault("QM9 with hydrogens", {})[key] = time.perf_counter() - began
        out["QM9 with hydrogens"] |= {"bytes_per_graph": data.pack.nbytes / len(data)} | epoch(data, 256)
    out["NCI1"] = epoch(ccn.datasets.load("NCI1"), 256)
    write_json(RESULTS / "datasets.json", out)
    print((RESULTS / "datasets.json").read_text())


if __name__ == "__main__":
    main()

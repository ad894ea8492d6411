"""From SMILES to packed batches and to predictions on one core, and the first use on a machine."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import interleaved, limited
from benchmarks.work import smiles_of
from ccn.chemistry.properties import molecule_features
from ccn.datasets.molecules import convert
from ccn.estimators import CCNRegressor
from ccn.features import Histograms
from ccn.learning.task import Floats
from ccn.paper import chemprop
from ccn.runs.predict import Options, predict_file

_FIRST = """
import time, torch
torch.set_num_threads(1)
import ccn
from benchmarks.work import generated
b, net = ccn.batch(generated(16)), ccn.CCN(16, 1, channels=16)
began = time.perf_counter()
{0}
print(time.perf_counter() - began)
"""


def _first(code: str) -> float:
    """Seconds of the first use of the engine where no kernel was compiled before."""
    with tempfile.TemporaryDirectory() as folder:
        made = {**os.environ, "CCN_CACHE": folder, "CCN_KERNELS": folder}
        command = [sys.executable, "-c", _FIRST.format(code)]
        return float(subprocess.run(command, env=made, capture_output=True, text=True, check=True).stdout)


def _chemprop(folder: Path, smiles: list[str], answers: Floats) -> float:
    """Seconds of ``chemprop predict`` on one core, of a model of a few molecules; 0 where there is no chemprop."""
    if chemprop.missing():
        return 0.0
    chemprop.train(folder, smiles[: len(answers)], answers, False, 0)
    os.sched_setaffinity(0, {0})
    try:
        began = time.perf_counter()
        chemprop.predict(folder, smiles)
        return time.perf_counter() - began
    finally:
        os.sched_setaffinity(0, range(os.cpu_count() or 1))


def reading(both_cores: float, count: int = 20_000) -> list[dict[str, Any]]:
    """Molecules a second, and how much longer everything takes than RDKit's parsing alone, if CCN_DATA has HCEP.

    ``both_cores`` is what a second core can give.
    """
    from rdkit import Chem

    smiles = smiles_of("hcep", count)
    if smiles is None:
        return []
    few, features, histograms = smiles[:1000], molecule_features("compact"), Histograms()

    def batches() -> None:
        ready = histograms(convert(few, features).pack)
        for first in range(0, len(ready), 256):  # as in predictions
            ready.select(np.arange(first, min(first + 256, len(ready)))).batch()

    t = interleaved(
        {
            "rdkit": lambda: [Chem.MolFromSmiles(text).GetNumAtoms() for text in few],
            "read": lambda: convert(few, features),
            "batch": batches,
        },
        9,
    )
    with tempfile.TemporaryDirectory() as folder:
        table, out = Path(folder) / "in.csv", Path(folder) / "out.csv"
        table.write_text("\n".join(["smiles", *smiles]) + "\n")
        answers = np.arange(64, dtype=np.float64) % 7
        model = CCNRegressor(method="ccn", epochs=1).fit(smiles[:64], answers).save(Path(folder) / "model.safetensors")

        def predict(processes: int) -> None:
            predict_file(model, str(table), out, Options(processes=processes, overwrite=True, say=lambda line: None))

        seconds = interleaved({str(n): partial(predict, n) for n in (1, 2)}, 5, budget=60)
        beside = _chemprop(Path(folder), smiles, answers)

    batched = "SMILES to a packed batch with the default features, molecules per second"
    return [
        limited(batched, len(few) / t["batch"], least=5000),
        limited("the same / RDKit's parsing alone", t["batch"] / t["rdkit"], most=1.9),
        limited("SMILES to a pack, without histograms / RDKit's parsing alone", t["read"] / t["rdkit"], most=1.5),
        limited("ccn predict, one network, molecules per second", len(smiles) / seconds["1"], least=3300),
        limited("the same by one process / by two", seconds["1"] / seconds["2"], least=0.9 * both_cores),
        *(
            [limited("chemprop predict on one core / ccn predict, the same rows", beside / seconds["1"], least=4)]
            if beside
            else []
        ),
        limited("first forward pass on a machine, seconds", _first("net(b)"), most=3),
        limited("first training step on a machine, seconds", _first("net(b).sum().backward()"), most=3),
    ]

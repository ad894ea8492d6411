"""From SMILES to packed batches and to predictions on one core, and the first use on a machine."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import interleaved, limited
from benchmarks.work import smiles_of
from ccn.chemistry.properties import molecule_features
from ccn.datasets.molecules import convert
from ccn.estimators import CCNRegressor
from ccn.features import Histograms
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


def reading(count: int = 20_000) -> list[dict[str, Any]]:
    """Molecules a second, and how much longer everything takes than RDKit's parsing alone, if CCN_DATA has HCEP."""
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
        answers = np.arange(64) % 7.0
        model = CCNRegressor(method="ccn", epochs=1).fit(smiles[:64], answers).save(Path(folder) / "model.safetensors")

        def predict() -> float:
            began = time.perf_counter()
            predict_file(model, str(table), out, Options(processes=1, overwrite=True, say=lambda line: None))
            return time.perf_counter() - began

        seconds = min(predict() for _ in range(3))

    batched = "SMILES to a packed batch with the default features, molecules per second"
    return [
        limited(batched, len(few) / t["batch"], least=5000),
        limited("the same / RDKit's parsing alone", t["batch"] / t["rdkit"], most=1.9),
        limited("SMILES to a pack, without histograms / RDKit's parsing alone", t["read"] / t["rdkit"], most=1.5),
        limited("ccn predict, one network, molecules per second", len(smiles) / seconds, least=3300),
        limited("first forward pass on a machine, seconds", _first("net(b)"), most=3),
        limited("first training step on a machine, seconds", _first("net(b).sum().backward()"), most=3),
    ]

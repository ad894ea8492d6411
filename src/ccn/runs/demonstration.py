"""The demonstration behind ``ccn demo``: from MUTAG to a model and predictions, as the command line does it."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ccn.runs.config import check_folder, resolve
from ccn.runs.predict import Options, predict_file
from ccn.runs.train import train_run

__all__ = ["MOLECULES", "Shown", "run"]

MOLECULES = {
    "9-nitroanthracene": "O=[N+]([O-])c1c2ccccc2cc2ccccc12",
    "3-nitrophenanthrene": "O=[N+]([O-])c1ccc2ccc3ccccc3c2c1",
    "nitrobenzene": "O=[N+]([O-])c1ccccc1",
}
"""Molecules that are not in MUTAG, by name."""


@dataclass(frozen=True)
class Shown:
    """What the demonstration came to.

    Attributes:
        accuracy, majority: on the test part, of the network and of the more frequent class.
        tested: rows of the test part.
        model: the file.
        predictions: name, SMILES and probability of being mutagenic.

    """

    accuracy: float
    majority: float
    tested: int
    model: Path
    predictions: list[tuple[str, str, float]]


def run(folder: Path, epochs: int, seed: int, *, say: Callable[[str], None] = lambda line: None) -> Shown:
    """Train on MUTAG and predict for new molecules; everything is in the folder."""
    # Rate and batches were chosen on the validation parts of three splits.
    settings: dict[str, dict[str, Any]] = {
        "training": {"epochs": epochs, "batch_size": 16},
        "optimiser": {"learning_rate": 1e-2},
        "splitting": {"fractions": (0.7, 0.1, 0.2)},
    }
    config = resolve("MUTAG", settings, seed=seed, threads=1)  # batches too small to be shared by threads
    check_folder(folder, resume=False, overwrite=folder.exists() and any(folder.iterdir()))
    done = train_run(config, folder, verbose=True, say=say)
    with (folder / "predictions.csv").open(newline="", encoding="utf-8") as file:
        known = [row["class"] for row in csv.DictReader(file)]
    new, out = folder / "new.csv", folder / "new_predictions.csv"
    with new.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("name", "smiles"), *MOLECULES.items()])
    predict_file(folder, str(new), out, options=Options(processes=1, overwrite=True))
    with out.open(newline="", encoding="utf-8") as file:
        rows = [(row["name"], row["smiles"], float(row["class_prob_1"])) for row in csv.DictReader(file)]
    majority = float(np.mean([c == "1" for c in known]))
    accuracy = float(done.metrics["metrics"]["test"]["accuracy"])
    return Shown(accuracy, majority, len(known), folder / "model.safetensors", rows)

"""chemprop, called as a command of an environment of its own, which the variable CCN_CHEMPROP names."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ccn.errors import TrainingError
from ccn.learning.task import Floats
from ccn.reports.markup import csv_text

__all__ = ["missing", "predict", "train", "versions"]

_VARIABLE = "CCN_CHEMPROP"


def missing() -> str:
    """Why it cannot run here; empty where it can."""
    command = os.environ.get(_VARIABLE)
    if command and shutil.which(command):
        return ""
    at = f"{command} is no command; " if command else ""
    return f"{at}set {_VARIABLE} to the command chemprop of an environment of its own"


def versions() -> Mapping[str, str]:
    """Of the environment of the command, asked of the Python beside it."""
    python = Path(shutil.which(os.environ[_VARIABLE]) or "").parent / "python"
    ask = "from importlib.metadata import version; print(version('chemprop'))"
    try:
        said = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return {"chemprop": "unknown"}
    return {"chemprop": said.stdout.strip()}


def train(folder: Path, smiles: Sequence[str], y: Floats, classification: bool, seed: int) -> None:
    """``chemprop train`` at its defaults, into ``folder``; it divides the rows itself."""
    kind = "classification" if classification else "regression"
    rows, seeds = folder / "train.csv", ("--data-seed", str(seed), "--pytorch-seed", str(seed))
    rows.write_text(csv_text(("smiles", "y"), zip(smiles, y.tolist(), strict=True)), encoding="utf-8")
    _call("train", "--data-path", rows, "--task-type", kind, "--output-dir", folder / "out", *seeds)


def predict(folder: Path, smiles: Sequence[str], *words: str) -> Floats:
    """(molecules,) by ``chemprop predict``, of classes the probability of class 1; it writes ``folder``/predicted.csv.

    Args:
        folder: what :func:`train` wrote into.
        smiles: of the molecules.
        words: further words of the command.
    """
    asked, predicted = folder / "test.csv", folder / "predicted.csv"
    asked.write_text(csv_text(("smiles",), ((text,) for text in smiles)), encoding="utf-8")
    _call("predict", "--test-path", asked, "--model-paths", folder / "out", "--preds-path", predicted, *words)
    with predicted.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    if len(rows) != len(smiles):
        raise TrainingError(f"chemprop predicted {len(rows)} of {len(smiles)} rows; see that it runs by itself")
    return np.array([float(row[-1]) for row in rows])


def _call(*words: str | Path) -> None:
    done = subprocess.run([os.environ[_VARIABLE], *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise TrainingError(f"chemprop {words[0]} ended with code {done.returncode}: {''.join(last)}")

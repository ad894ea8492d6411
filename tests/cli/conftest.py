"""Small tables of molecules, and the command line called in this process."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from ccn.cli import app

TINY = [
    *("--method", "ccn"),
    *("--order", "1", "--levels", "1", "--channels", "4", "--hidden", "8", "--contractions", "distinct"),
    *("--epochs", "2", "--batch-size", "16", "--threads", "1", "--features", "element", "--no-edge-features"),
]


def molecules(count: int) -> list[str]:
    """Chains with an oxygen or a nitrogen at the end, all different."""
    return [f"{'C' * (1 + i // 4)}{('O', 'N', 'C(=O)O', 'C#N')[i % 4]}" for i in range(count)]


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """40 molecules with a number, a class and an identifier."""
    path = tmp_path_factory.mktemp("data") / "molecules.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "smiles", "size", "kind"])
        rows.writerows(
            [f"m{i}", s, len(s) + 0.25, "acid" if i % 4 == 2 else "other"] for i, s in enumerate(molecules(40))
        )
    return path


def call(*words: object) -> None:
    """A command; training without a report, which takes longer than such a run, unless ``--report`` is given."""
    if words[0] == "train" and "--report" not in words:
        words = (*words, "--no-report")
    app([str(w) for w in words], result_action="return_value", exit_on_error=False)


@pytest.fixture(scope="session")
def ccn() -> Callable[..., None]:
    """A command, in this process."""
    return call


@pytest.fixture(scope="session")
def run(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run of a regression, made once."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    call("train", table, "--target", "size", "--output", folder, "--quiet", "--report", *TINY)
    return folder


@pytest.fixture(scope="session")
def tiny() -> list[str]:
    """Flags of a small network."""
    return TINY

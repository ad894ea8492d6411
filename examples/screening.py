"""A screening on a Dask cluster: a library of molecules in, the best ones out, in constant memory.

    python examples/screening.py

`--cluster local` starts workers on this machine; with the address of a scheduler, `--cluster tcp://host:8786`, the
same command runs on a cluster of many. Chunks of rows are answered anywhere and written in their order, so the result
does not depend on the number of workers; a worker that dies costs its chunk alone, and a killed command continues
with `--resume`.
"""

from __future__ import annotations

import csv
import itertools
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rdkit import Chem
from rdkit.Chem import QED

from ccn.cli import app

qed: Any = QED.qed
HEADS = ["C", "CC", "CCC", "CC(C)", "C1CC1", "C1CCCC1", "C1CCCCC1", "c1ccccc1", "c1ccncc1", "FC(F)(F)C", "COC", "NCC"]
LINKS = ["", "C", "CC", "O", "N", "C(=O)N", "C(=O)O", "S(=O)(=O)N", "OC", "C(=O)", "CNC", "CO"]
TAILS = ["C", "CC", "C(C)C", "C1CCOCC1", "c1ccccc1", "c1ccc(F)cc1", "c1ccc(Cl)cc1", "c1ccco1", "c1cccs1", "C1CCNCC1"]
TAILS += ["CC#N", "CCO", "c1ccc(O)cc1", "C(C)(C)C", "c1ccncc1"]


def library(rows: int) -> list[str]:
    """Molecules made of three pieces, without repeats."""
    made = (f"{h}{k}{t}" for h, k, t in itertools.product(HEADS, LINKS, TAILS))
    return list(itertools.islice(dict.fromkeys(made), rows))


def ccn(line: str) -> None:
    """Run a command of the command line in this process."""
    app(shlex.split(line), exit_on_error=False, result_action="return_value")


def main(rows: int = 2000, workers: int = 2) -> list[tuple[str, float]]:
    """The three molecules that are predicted to be the most drug-like, trained on RDKit's measure of 200 others."""
    smiles = library(rows)
    train = [s for i, s in enumerate(smiles) if i % max(1, rows // 200) == 0]
    write("train.csv", ["smiles", "qed"], [(s, round(qed(Chem.MolFromSmiles(s)), 4)) for s in train])
    write("library.csv", ["smiles"], [(s,) for s in smiles])
    ccn("train train.csv --target qed --method trees --output run --no-report --quiet")
    ccn(f"predict run library.csv -o screened.csv --cluster local --processes {workers} --chunk 250 --quiet")
    with Path("screened.csv").open(newline="") as file:
        found = [(row["smiles"], float(row["qed_pred"])) for row in csv.DictReader(file)]
    assert [s for s, _ in found] == smiles  # all rows, in their order
    return sorted(found, key=lambda pair: -pair[1])[:3]


def write(path: str, names: list[str], rows: Sequence[tuple[object, ...]]) -> None:
    with Path(path).open("w", newline="") as file:
        csv.writer(file).writerows([names, *rows])


if __name__ == "__main__":  # Dask imports this file again in its workers
    for smiles, value in main():
        print(f"{value:.2f} {smiles}")

"""Solubility from SMILES: a table, a model, a report, a prediction with its reason, by the commands of a shell.

    python examples/solubility.py

The table is made up, so that this runs without a download: 150 small molecules, and as their solubility what
Delaney's equation (ESOL, 2004) says of RDKit's descriptors, with some noise. With a table of your own, begin at the
first command:

    ccn train solubility.csv --target logS --method trees --output example
    ccn predict example new.csv -o predictions.csv --interval 0.5 --domain
    ccn explain example 'CC(=O)Nc1ccc(O)cc1' -o why.svg

Without `--method` several methods are fitted and weighed, which takes a few minutes. `example/report.html` is the
report.
"""

from __future__ import annotations

import csv
import shlex
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rdkit import Chem
from rdkit.Chem import rdMolDescriptors

from ccn.cli import app


def molecules() -> list[str]:
    """150 molecules: chains, rings and benzenes with one or two groups."""
    groups = ["O", "N", "Cl", "C(=O)O", "C(=O)OC", "C#N", "C(C)=O", "OC", "F", "CO"]
    frames = ["CC{}", "CCCC{}", "CC(C)C{}", "C1CCCC1{}", "C1CCCCC1{}", "c1ccccc1{}", "Cc1ccc(cc1){}", "CCCCCCC{}"]
    frames += ["Oc1ccc(cc1){}", "c1ccc2ccccc2c1{}", "c1ccncc1{}", "Clc1ccc(cc1){}", "CCOCC{}", "NCC{}", "FC(F)C{}"]
    return [frame.format(group) for frame in frames for group in groups]


def solubility(smiles: str, noise: float) -> float:
    """Delaney's equation: log S = 0.16 - 0.63 logP - 0.0062 mass + 0.066 rotatable bonds - 0.74 aromatic share."""
    m = Chem.MolFromSmiles(smiles)
    aromatic = sum(a.GetIsAromatic() for a in m.GetAtoms()) / m.GetNumHeavyAtoms()
    bonds, mass = rdMolDescriptors.CalcNumRotatableBonds(m), rdMolDescriptors.CalcExactMolWt(m)
    logp = rdMolDescriptors.CalcCrippenDescriptors(m)[0]
    return float(0.16 - 0.63 * logp - 0.0062 * mass + 0.066 * bonds - 0.74 * aromatic + noise)


def ccn(line: str) -> None:
    """Run a command of the command line in this process."""
    app(shlex.split(line), exit_on_error=False, result_action="return_value")


def main(method: str = "trees") -> dict[str, str]:
    """The prediction for paracetamol, with its interval and how far it is from what was learned."""
    rng = np.random.default_rng(0)
    rows = [(s, round(solubility(s, rng.normal(0, 0.2)), 3)) for s in molecules()]
    write("solubility.csv", ["smiles", "logS"], rows)
    write("new.csv", ["name", "smiles"], [("paracetamol", "CC(=O)Nc1ccc(O)cc1")])

    ccn(f"train solubility.csv --target logS --method {method} --output example --quiet")
    ccn("predict example new.csv -o predictions.csv --interval 0.5 --domain --quiet")
    ccn("explain example 'CC(=O)Nc1ccc(O)cc1' -o why.svg --quiet")
    with Path("predictions.csv").open(newline="") as file:
        return next(csv.DictReader(file))


def write(path: str, names: list[str], rows: Sequence[tuple[object, ...]]) -> None:
    with Path(path).open("w", newline="") as file:
        csv.writer(file).writerows([names, *rows])


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name}: {value}")
    print(f"report: {Path('example/report.html')}, drawing: {Path('why.svg')}")

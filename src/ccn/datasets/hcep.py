"""HCEP: power conversion efficiencies of molecules for solar cells, drawn from the Harvard Clean Energy Project."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ccn.datasets.dataset import Dataset
from ccn.datasets.molecule_tables import dataset_of_molecules
from ccn.datasets.schema import Schema
from ccn.datasets.tables import open_table

__all__ = ["read_hcep"]


def read_hcep(path: str | Path, name: str = "HCEP", **options: Any) -> Dataset:
    """Read all rows; groups are the two samples of the database that they come from.

    The options are ``MOLECULE_OPTIONS`` of :mod:`ccn.datasets.molecule_tables`.
    """
    data, _ = dataset_of_molecules(
        open_table(path),
        Schema("smiles", ("pce",), group="source"),
        name,
        task="regression",
        **options,
    )
    return replace(data, units=("%",))

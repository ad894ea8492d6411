"""Auxiliary columns of a table: numbers, or labels of 0 and 1, learned beside the targets and not predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ccn.datasets.dataset import NOT_A_NUMBER, Dataset, Remark
from ccn.datasets.tables import find_column, has_decimal_commas, is_missing, number, number_or_bounds, open_table
from ccn.errors import ConfigurationError

__all__ = ["with_auxiliary"]


def with_auxiliary(data: Dataset, path: str | Path, columns: Sequence[str], *, sheet: str | None = None) -> Dataset:
    """The data set with columns of the table that it was read from as :attr:`Dataset.auxiliary`.

    Blank cells and bounds such as >10 are missing; a cell that is neither is noted.
    """
    if data.rows is None:
        raise ConfigurationError(f"{data.name}: auxiliary columns are those of a table; it is none")
    table = open_table(path, sheet=sheet)
    at = {table.columns[i]: i for i in (find_column(table, name, "auxiliary") for name in columns)}
    taken = {*data.target_names, *data.options.get("extra_columns", ()), data.options.get("smiles_column")}
    if both := [name for name in at if name in taken]:
        raise ConfigurationError(f"{path}: the auxiliary column {both[0]!r} is a target or an input too; leave it out")
    place = {row: i for i, row in enumerate(data.rows.tolist())}
    cells = {name: [""] * len(data) for name in at}
    for row in table.rows():
        if row.number in place and not row.fault:
            for name, i in at.items():
                cells[name][place[row.number]] = row.cells[i]
    values, noted = np.full((len(data), len(at)), np.nan), []
    for c, (name, column) in enumerate(cells.items()):
        commas = has_decimal_commas(column)
        for i, cell in enumerate(column):
            if (value := number(cell, commas)) is not None:
                values[i, c] = value
            elif not is_missing(cell) and number_or_bounds(cell, commas) is None:
                noted.append(Remark(int(data.rows[i]), cell, f"{NOT_A_NUMBER}: {name}"))
        if np.isnan(values[:, c]).all():
            raise ConfigurationError(f"{path}: the auxiliary column {name!r} holds no number; leave it out")
    more = tuple(sorted((*data.noted, *noted), key=lambda r: r.row))
    return replace(data, auxiliary=values, auxiliary_names=tuple(at), noted=more)

"""Tables of molecules: from rows of cells to a data set, with a remark on every row that is dropped or unusual."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ccn.chemistry.properties import MoleculeFeatures, molecule_features
from ccn.datasets.columns import Task, encode_targets
from ccn.datasets.dataset import Dataset
from ccn.datasets.molecules import convert_all
from ccn.datasets.remarks import CONTRADICTION, NOT_A_NUMBER, Remark
from ccn.datasets.schema import COLUMN_OPTIONS, Schema, find_schema
from ccn.datasets.strings import Strings
from ccn.datasets.tables import Table, find_column, is_missing, name_of, number, open_table
from ccn.errors import DataError
from ccn.graphs.ragged import Int

__all__ = ["MOLECULE_OPTIONS", "dataset_of_molecules", "read_molecules"]

MOLECULE_OPTIONS = ("features", "hydrogens", "n_jobs", "progress")
"""Options of :func:`dataset_of_molecules` that the readers of molecules pass on."""


def read_molecules(
    path: str | Path,
    name: str | None = None,
    *,
    task: Task | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    **options: Any,
) -> Dataset:
    """Read a table of molecules: CSV, TSV, Parquet, SDF or SMILES, also with ``.gz``.

    Columns that are not named are detected (:func:`ccn.datasets.schema.find_schema`). Rows that cannot be used are
    listed in ``dropped``, unusual ones that are kept in ``noted``.

    Args:
        path: the file.
        name: of the data set; by default that of the file.
        task: by default classification where every target has words or a few integers, else regression.
        delimiter, header: of a text table; by default detected.
        **options: ``smiles_column`` and ``target_columns``, the input and what is learned (a blank target is missing);
            ``weight_column``, ``group_column``, ``split_column`` and ``id_column``, kept beside the graphs; and
            those of :func:`dataset_of_molecules`.

    """
    table = open_table(path, delimiter=delimiter, header=header)
    schema = find_schema(table, **{key: options.pop(key) for key in COLUMN_OPTIONS if key in options})
    return dataset_of_molecules(table, schema, name or name_of(path), task=task, contradictions=True, **options)[0]


def dataset_of_molecules(
    table: Table,
    schema: Schema,
    name: str,
    *,
    features: MoleculeFeatures | str = "element",
    hydrogens: bool = False,
    task: Task | None = None,
    contradictions: bool = False,
    elements: Sequence[str] = (),
    n_jobs: int | None = None,
    progress: bool = True,
) -> tuple[Dataset, Int]:
    """The data set in a table, and (graphs, elements) the atoms of each element requested.

    Args:
        table, schema, name: the table, its columns, and the name of the data set.
        features: set of atom and bond features; see :func:`ccn.chemistry.properties.molecule_features`.
        hydrogens: make hydrogens vertices.
        task: by default detected.
        contradictions: note the rows whose molecule is in an earlier row with other targets.
        elements: symbols of those to count.
        n_jobs: processes; by default one per core.
        progress: show a bar on a terminal.

    """
    rows, chosen = _usable(table, schema), molecule_features(features, hydrogens)
    made = convert_all(
        rows.smiles, chosen, canonical=True, elements=elements, n_jobs=n_jobs, progress=progress, name=name
    )
    dropped = [*rows.dropped, *(Remark(rows.numbers[i], rows.smiles[i], why) for i, why in made.bad)]
    dropped.sort(key=lambda r: r.row)
    if not len(made.pack):
        raise DataError(f"{table.path}: no good row among {len(dropped)}" + (f"; {dropped[0]}" if dropped else ""))
    good = made.good.tolist()
    numbers, smiles = [rows.numbers[i] for i in good], [rows.smiles[i] for i in good]
    columns = [[column[i] for i in good] for column in rows.targets]
    noted = [*rows.noted, *(Remark(rows.numbers[i], rows.smiles[i], why) for i, why in made.noted)]
    if contradictions:
        noted += _contradictions(made.canonical, columns, numbers, smiles)
    kept = set(numbers)
    values, found, classes = encode_targets(columns, schema.targets, len(good), task, str(table.path))
    carried = {what: [cells[i] for i in good] for what, cells in rows.carried.items()}
    strings: dict[str, Any] = {what: Strings.of(cells) for what, cells in carried.items() if what != "weights"}
    data = Dataset(
        name,
        made.pack,
        values,
        schema.targets,
        found,
        classes,
        smiles=Strings.of(smiles),
        canonical=Strings.of(made.canonical),
        weights=np.array([float(cell) for cell in carried["weights"]]) if "weights" in carried else None,
        rows=np.array(numbers, dtype=np.int64),
        dropped=tuple(dropped),
        noted=tuple(sorted((r for r in noted if r.row in kept), key=lambda r: r.row)),
        vertex_names=chosen.vertex_names,
        edge_names=chosen.edge_names,
        options={
            "features": chosen.name,
            "hydrogens": chosen.hydrogens,
            "smiles_column": schema.smiles,
            "target_columns": list(schema.targets),
        },
        **strings,
    )
    return data, made.counts


@dataclass(frozen=True)
class _Rows:
    """The rows of a table without a fault, column by column; ``carried`` by the field of the data set."""

    numbers: list[int] = field(default_factory=list)
    smiles: list[str] = field(default_factory=list)
    targets: list[list[Any]] = field(default_factory=list)
    carried: dict[str, list[str]] = field(default_factory=dict)
    dropped: list[Remark] = field(default_factory=list)
    noted: list[Remark] = field(default_factory=list)


def _usable(table: Table, schema: Schema) -> _Rows:
    smiles, *targets = (find_column(table, c, "schema") for c in (schema.smiles, *schema.targets))
    named = {"weights": schema.weight, "groups": schema.group, "splits": schema.split, "ids": schema.id}
    carried = {what: find_column(table, column, what) for what, column in named.items() if column is not None}
    out = _Rows(targets=[[] for _ in targets], carried={what: [] for what in carried})
    for row in itertools.chain.from_iterable(table.chunks()):
        text = ",".join(row.cells).strip(",") if row.note or row.fault else ""
        if row.note:
            out.noted.append(Remark(row.number, text, row.note))
        fault = row.fault
        if not fault and "weights" in carried:
            text = row.cells[carried["weights"]]
            weight = number(text)
            fault = "" if weight is not None and weight > 0 else f"weight is not a positive number: {schema.weight}"
        if fault:
            out.dropped.append(Remark(row.number, text, fault))
            continue
        values, wrong = _targets(row.number, [row.cells[i] for i in targets], schema)
        if wrong and all(v is None for v in values):
            out.dropped.extend(wrong)
            continue
        out.noted.extend(wrong)
        out.numbers.append(row.number)
        out.smiles.append(row.cells[smiles].strip())
        for column, value in zip(out.targets, values, strict=True):
            column.append(value)
        for what, i in carried.items():
            out.carried[what].append(row.cells[i])
    return out


def _targets(row: int, cells: Sequence[str], schema: Schema) -> tuple[list[Any], list[Remark]]:
    """The targets of one row, None where missing, and a remark on each cell that should be a number and is not."""
    out: list[Any] = []
    wrong = []
    for name, cell in zip(schema.targets, cells, strict=True):
        if is_missing(cell):
            out.append(None)
        elif name in schema.words:
            out.append(cell.strip())
        else:
            out.append(number(cell))
            if out[-1] is None:
                wrong.append(Remark(row, cell, f"{NOT_A_NUMBER}: {name}"))
    return out, wrong


def _contradictions(
    canonical: Sequence[str], columns: Sequence[Sequence[Any]], rows: Sequence[int], smiles: Sequence[str]
) -> list[Remark]:
    """A remark on each row whose molecule is in an earlier row with other targets."""
    first: dict[str, int] = {}
    out = []
    for i, key in enumerate(canonical):
        j = first.setdefault(key, i)
        if j != i and any(c[i] != c[j] for c in columns if c[i] is not None and c[j] is not None):
            out.append(Remark(rows[i], smiles[i], f"{CONTRADICTION}: the molecule of row {rows[j]}"))
    return out

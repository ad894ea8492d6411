"""Tables of molecules: which column means what, named by the user or detected in the first rows, and from rows of cells
to a data set, with a remark on every row that is dropped or unusual.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ccn.chemistry.properties import MoleculeFeatures, molecule_features
from ccn.chemistry.smiles import MAX_ATOMS, parses
from ccn.chemistry.standardise import Standard
from ccn.datasets.columns import Strings, Task, encode_targets
from ccn.datasets.dataset import CONTRADICTION, NOT_A_NUMBER, Dataset, Remark
from ccn.datasets.molecules import convert_all
from ccn.datasets.tables import (
    Row,
    Table,
    blank_words,
    find_column,
    has_decimal_commas,
    is_missing,
    name_of,
    number,
    number_or_bounds,
    open_table,
)
from ccn.errors import ConfigurationError, DataError
from ccn.graphs.ragged import Int

__all__ = [
    "COLUMN_OPTIONS", "MOLECULE_OPTIONS", "Schema", "dataset_of_molecules", "extra_fault", "find_schema",
    "read_molecules", "smiles_columns",
]  # fmt: skip

COLUMN_OPTIONS = (
    "smiles_column", "target_columns", "weight_column", "group_column", "split_column", "id_column", "extra_columns"
)  # fmt: skip
"""Options of :func:`find_schema`."""
MOLECULE_OPTIONS = ("features", "hydrogens", "max_atoms", "standardise", "n_jobs", "progress")
"""Options of :func:`dataset_of_molecules` that the readers of molecules pass on."""
_SMILES_NAMES = ("smiles", "canonical_smiles", "isomeric_smiles", "smiles_string", "mol", "molecule", "structure")
_ID_NAMES = ("id", "index", "idx", "no", "no.", "number", "row", "name", "title", "cid", "key", "inchikey")
_ID_OF = re.compile(r"(compound|molecule|mol|sample|substance|structure|chembl|drug)[ _.-]*(id|name|no\.?|number|key)")
_LARGEST = 1e38  # that float32 holds
_NO_EXTRA = "not a number in an extra column"
_FEW = 20  # distinct words that may be classes
_LOOK = 50  # rows that are parsed to detect SMILES


@dataclass(frozen=True)
class Schema:
    """The columns of a table of molecules, by name.

    Attributes:
        extra: columns of numbers that are read as features of the molecule as a whole.
        words: the targets whose cells are words, which can only be classes, and what means a missing value there.
        decimal_commas: the columns of numbers with a decimal comma.
        censored: cells of targets such as >10 are bounds; they are not where targets are classes.
    """

    smiles: str
    targets: tuple[str, ...] = ()
    weight: str | None = None
    group: str | None = None
    split: str | None = None
    id: str | None = None
    extra: tuple[str, ...] = ()
    words: Mapping[str, frozenset[str]] = field(default_factory=dict)
    decimal_commas: frozenset[str] = field(default=frozenset())
    censored: bool = True

    def number(self, name: str, cell: str) -> float | None:
        """The number in a cell of this column, or None."""
        return number(cell, name in self.decimal_commas)

    def target(self, name: str, cell: str) -> float | tuple[float, float] | None:
        """The number in a cell of this target, or its bounds, or None."""
        return number_or_bounds(cell, name in self.decimal_commas) if self.censored else self.number(name, cell)

    def extra_numbers(self, cells: Sequence[str]) -> list[float]:
        """The numbers in the cells of the extra columns, NaN where there is none that float32 can hold."""
        values = [self.number(name, cell) for name, cell in zip(self.extra, cells, strict=True)]
        return [math.nan if v is None or abs(v) > _LARGEST else v for v in values]


def extra_fault(names: Sequence[str], values: Sequence[float]) -> str:
    """Which of the extra columns have no number in a row, or an empty string."""
    wrong = [name for name, value in zip(names, values, strict=True) if math.isnan(value)]
    return f"{_NO_EXTRA}: {', '.join(wrong)}" if wrong else ""


def find_schema(
    table: Table,
    *,
    smiles_column: str | None = None,
    target_columns: str | Iterable[str] | None = None,
    weight_column: str | None = None,
    group_column: str | None = None,
    split_column: str | None = None,
    id_column: str | None = None,
    extra_columns: str | Iterable[str] = (),
    task: Task | None = None,
) -> Schema:
    """The columns of a table of molecules, as named or detected in its first 1,000 rows.

    Without names, the SMILES column is one whose name says so or whose cells RDKit reads as molecules; targets are
    all columns of numbers except row counters, else a single column of a few words.
    """

    def column(name: str | None, option: str) -> str | None:
        return None if name is None else table.columns[find_column(table, name, option)]

    def listed(names: str | Iterable[str], option: str) -> tuple[str, ...]:
        given = [names] if isinstance(names, str) else names
        return tuple(dict.fromkeys(table.columns[find_column(table, name, option)] for name in given))

    sample = table.sample()
    cells = dict(zip(table.columns, zip(*(row.cells for row in sample), strict=True), strict=True)) if sample else {}
    smiles = column(smiles_column, "smiles_column") or _smiles(table, sample)
    weight = column(weight_column, "weight_column")
    group = column(group_column, "group_column")
    split = column(split_column, "split_column")
    identifier = column(id_column, "id_column")
    extra = listed(extra_columns, "extra_columns")
    taken = {smiles, weight, group, split, identifier, *extra}
    if target_columns is None:
        targets = _target_columns({name: cell for name, cell in cells.items() if name not in taken})
    else:
        targets = listed(target_columns, "target_columns")
    if both := [name for name in extra if name in (smiles, *targets)]:
        what = "the SMILES" if both[0] == smiles else "a target, which would tell the answer"
        raise ConfigurationError(f"{table.path}: the column {both[0]!r} of --extra-columns is {what}; leave it out")
    if identifier is None:
        free = (name for name in table.columns if name not in taken and name not in targets)
        identifier = next((name for name in free if _is_id(name)), None)
    censored = task != "classification"
    words = {
        name: blank_words(cells[name]) for name in targets if name in cells and not _numeric(cells[name], censored)
    }
    commas = frozenset(name for name in (*targets, *extra, weight) if name in cells and has_decimal_commas(cells[name]))
    return Schema(smiles, targets, weight, group, split, identifier, extra, words, commas, censored)


def _is_id(name: str) -> bool:
    return name.lower() in _ID_NAMES or _ID_OF.fullmatch(name.lower()) is not None


def smiles_columns(columns: Sequence[str], cells: Callable[[int], Iterable[str]]) -> list[int]:
    """The places of the columns that may be the one of SMILES, best first: by their names, else by their cells.

    One whose whole name says so is the only one. ``cells`` gives the cells of a column by its place.
    """
    lower = [name.lower() for name in columns]
    for name in _SMILES_NAMES:
        if name in lower:
            return [lower.index(name)]
    named = [i for i, name in enumerate(lower) if "smiles" in name]
    if named:
        return named

    def score(i: int) -> tuple[float, float]:
        """Share of the cells that are molecules, and their mean length; a number is none."""
        column = [c for cell in itertools.islice(cells(i), _LOOK) if (c := cell.strip())]
        if not column:
            return 0.0, 0.0
        good = [c for c in column if number(c) is None and parses(c)]
        return len(good) / len(column), sum(map(len, good)) / len(column)

    scores = [score(i) for i in range(len(columns))]
    return sorted((i for i, s in enumerate(scores) if s[0] > 0.5), key=lambda i: scores[i], reverse=True)


def _smiles(table: Table, sample: Sequence[Row]) -> str:
    """The column of SMILES."""
    found = smiles_columns(table.columns, lambda i: (row.cells[i] for row in sample))
    if not found:
        shown = ", ".join(map(repr, table.columns[:10])) + (".." if len(table.columns) > 10 else "")
        raise DataError(f"{table.path}: no column of SMILES among {shown}; name it with smiles_column=NAME")
    return table.columns[found[0]]


def _numeric(column: Sequence[str], censored: bool = True) -> bool:
    """Whether at least half of the cells that are there are numbers, or bounds of numbers."""
    given, commas = [c for c in column if not is_missing(c)], has_decimal_commas(column)
    read = number_or_bounds if censored else number
    return 2 * sum(read(c, commas) is not None for c in given) >= len(given)


def _counts_rows(column: Sequence[str]) -> bool:
    """Whether the cells are consecutive integers."""
    cells = [c.strip() for c in column]  # also of control characters, which int() does not pass over
    values = [int(c) if c.isdecimal() and len(c) < 20 else None for c in cells]
    return len(values) > 2 and all(a is not None and b == a + 1 for a, b in itertools.pairwise(values))


def _target_columns(cells: dict[str, Sequence[str]]) -> tuple[str, ...]:
    """Columns that look like targets."""
    candidates = {name: of for name, of in cells.items() if not (_is_id(name) or all(map(is_missing, of)))}
    numbers = [name for name, column in candidates.items() if _numeric(column)]
    if numbers:
        # In a table of three rows anything may look like a counter: it is left out only if others remain.
        return tuple(name for name in numbers if not _counts_rows(candidates[name])) or tuple(numbers)

    def few(column: Sequence[str]) -> bool:
        blank = blank_words(column)
        words = {word for c in column if (word := c.strip()).lower() not in blank}
        return 2 <= len(words) <= min(_FEW, len(column) // 2)

    classes = tuple(name for name, column in candidates.items() if few(column))
    return classes if len(classes) == 1 else ()


def read_molecules(
    path: str | Path,
    name: str | None = None,
    *,
    task: Task | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    sheet: str | None = None,
    contradictions: bool = True,
    **options: Any,
) -> Dataset:
    """Read a table of molecules: CSV, TSV, Excel, Parquet, SDF or SMILES, also with ``.gz``.

    Columns that are not named are detected (:func:`find_schema`). Rows that cannot be used are
    listed in ``dropped``, unusual ones that are kept in ``noted``.

    Args:
        path: the file.
        name: of the data set; by default that of the file.
        task: by default classification where every target has words or a few integers, else regression.
        delimiter, header: of a text table; by default detected.
        sheet: of an Excel file; by default the first.
        contradictions: note the rows whose molecule is in an earlier row with other targets.
        **options: ``smiles_column`` and ``target_columns``, the input and what is learned (a blank target is missing);
            ``weight_column``, ``group_column``, ``split_column`` and ``id_column``, kept beside the graphs;
            ``extra_columns``, numbers that are features of the molecule as a whole; and those of
            :func:`dataset_of_molecules`.
    """
    table = open_table(path, delimiter=delimiter, header=header, sheet=sheet)
    schema = find_schema(table, task=task, **{key: options.pop(key) for key in COLUMN_OPTIONS if key in options})
    options |= {"task": task, "contradictions": contradictions}
    return dataset_of_molecules(table, schema, name or name_of(path), **options)[0]


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
    max_atoms: int = MAX_ATOMS,
    standardise: Standard | None = None,
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
        max_atoms: molecules with more atoms are dropped.
        standardise: replace molecules by their standard form (:mod:`ccn.chemistry.standardise`).
        n_jobs: processes; by default one per core.
        progress: show a bar on a terminal.
    """
    chosen = molecule_features(features, hydrogens)
    rows, dropped, noted = _usable(table, schema)
    smiles = [row.smiles for row in rows]
    how: dict[str, Any] = {"max_atoms": max_atoms, "standardise": standardise, "n_jobs": n_jobs, "progress": progress}
    made = convert_all(smiles, chosen, canonical=True, elements=elements, name=name, **how)
    dropped += [Remark(rows[i].number, smiles[i], why) for i, why in made.bad]
    dropped.sort(key=lambda r: r.row)
    if not len(made.pack):
        raise DataError(f"{table.path}: no good row among {len(dropped)}" + (f"; {dropped[0]}" if dropped else ""))
    noted += [Remark(rows[i].number, smiles[i], why) for i, why in made.noted]
    good = [rows[i] for i in made.good]
    pack = made.pack
    if schema.extra:
        pack = pack.with_more_graph_features(np.array([row.extra for row in good], dtype=np.float32))
    if contradictions:
        noted += _contradictions(made.canonical, good)
    kept = {row.number for row in good}
    columns = list(zip(*(row.targets for row in good), strict=True))
    bounds = _bounds(good, len(schema.targets))
    censored = Counter(name for row in good for name, b in zip(schema.targets, row.bounds, strict=True) if b)
    values, task, classes = encode_targets(columns, schema.targets, len(good), task, str(table.path), censored)
    carried = dict(zip(_carried(schema), zip(*(row.carried for row in good), strict=True), strict=True))
    weights = carried.pop("weights", None)
    none = [
        n for n, column in zip(schema.targets, columns, strict=True) if "none" in {str(v).lower() for v in column if v}
    ]
    notes = [table.note] if table.note else []
    notes += [f"decimal commas read in {', '.join(sorted(schema.decimal_commas))}"] if schema.decimal_commas else []
    notes += [f"none is a class in {', '.join(none)}"] if none else []
    bounded = ", ".join(f"{name} {censored[name]:,}" for name in schema.targets if censored[name])
    notes += [f"censored: {bounded}"] if bounded else []
    notes += [f"standardise {standardise}"] if standardise else []
    strings: dict[str, Any] = {what: Strings.of(cells) for what, cells in carried.items()}
    data = Dataset(
        name,
        pack,
        values,
        schema.targets,
        task,
        classes,
        smiles=Strings.of(row.smiles for row in good),
        canonical=Strings.of(made.canonical),
        bounds=bounds,
        weights=None if weights is None else np.array([schema.number(str(schema.weight), w) for w in weights]),
        rows=np.array([row.number for row in good], dtype=np.int64),
        dropped=tuple(dropped),
        noted=tuple(sorted((r for r in noted if r.row in kept), key=lambda r: r.row)),
        vertex_names=chosen.vertex_names,
        edge_names=chosen.edge_names,
        note="; ".join(notes),
        options={
            "features": chosen.name,
            "hydrogens": chosen.hydrogens,
            "smiles_column": schema.smiles,
            "target_columns": list(schema.targets),
            "extra_columns": list(schema.extra),
            **({} if max_atoms == MAX_ATOMS else {"max_atoms": max_atoms}),
            **({} if standardise is None else {"standardise": standardise}),
        },
        **strings,
    )
    return data, made.counts


class _Usable(NamedTuple):
    """A row without a fault; a target that is missing or censored is None, and bounds are of the censored ones."""

    number: int
    smiles: str
    targets: list[Any]
    bounds: list[tuple[float, float] | None]
    carried: list[str]
    extra: list[float]


def _carried(schema: Schema) -> dict[str, str]:
    """Columns that are kept beside the graphs, by the field of the data set."""
    named = {"weights": schema.weight, "groups": schema.group, "splits": schema.split, "ids": schema.id}
    return {what: column for what, column in named.items() if column is not None}


def _usable(table: Table, schema: Schema) -> tuple[list[_Usable], list[Remark], list[Remark]]:
    """The rows without a fault, and remarks on those with one and on those that are unusual."""
    smiles, *targets = (find_column(table, c, "schema") for c in (schema.smiles, *schema.targets))
    carried = {what: find_column(table, column, what) for what, column in _carried(schema).items()}
    extra = [find_column(table, column, "schema") for column in schema.extra]
    rows: list[_Usable] = []
    dropped: list[Remark] = []
    noted: list[Remark] = []
    for row in table.rows():
        text = ",".join(row.cells).strip(",") if row.note or row.fault else ""
        if row.note:
            noted.append(Remark(row.number, text, row.note))
        fault = row.fault
        if not fault and "weights" in carried:
            text = row.cells[carried["weights"]]
            weight = schema.number(str(schema.weight), text)
            fault = "" if weight is not None and weight > 0 else f"weight is not a positive number: {schema.weight}"
        numbers: list[float] = []
        if not fault and extra:
            text = ", ".join(row.cells[i] for i in extra)
            numbers = schema.extra_numbers([row.cells[i] for i in extra])
            fault = extra_fault(schema.extra, numbers)
        if fault:
            dropped.append(Remark(row.number, text, fault))
            continue
        read, wrong = _targets(row.number, [row.cells[i] for i in targets], schema)
        if wrong and all(v is None for v in read):
            dropped += wrong
            continue
        noted += wrong
        values = [None if isinstance(v, tuple) else v for v in read]
        bounds = [v if isinstance(v, tuple) else None for v in read]
        kept = [row.cells[i] for i in carried.values()]
        rows.append(_Usable(row.number, row.cells[smiles].strip(), values, bounds, kept, numbers))
    return rows, dropped, noted


def _bounds(rows: Sequence[_Usable], targets: int) -> NDArray[np.float64] | None:
    """(rows, targets, 2) the least and the largest value of censored targets, NaN for others; None without any."""
    if not any(any(row.bounds) for row in rows):
        return None
    none = (np.nan, np.nan)
    return np.array([[b or none for b in row.bounds] for row in rows]).reshape(len(rows), targets, 2)


def _targets(row: int, cells: Sequence[str], schema: Schema) -> tuple[list[Any], list[Remark]]:
    """The targets of one row, None where missing and a pair of bounds where censored, and a remark on each cell that
    should be a number and is not.
    """
    out: list[Any] = []
    wrong = []
    for name, cell in zip(schema.targets, cells, strict=True):
        blank = schema.words.get(name)
        if is_missing(cell) if blank is None else cell.strip().lower() in blank:
            out.append(None)
        elif blank is not None:
            out.append(cell.strip())
        else:
            out.append(schema.target(name, cell))
            if out[-1] is None:
                wrong.append(Remark(row, cell, f"{NOT_A_NUMBER}: {name}"))
    return out, wrong


def _contradictions(canonical: Sequence[str], rows: Sequence[_Usable]) -> Iterator[Remark]:
    """A remark on each row whose molecule, with the same extra columns, is in an earlier row with other targets."""
    first: dict[tuple[str | float, ...], _Usable] = {}
    for key, row in zip(canonical, rows, strict=True):
        before = first.setdefault((key, *row.extra), row)
        both = zip(row.targets, before.targets, strict=True)
        if any(a != b for a, b in both if a is not None and b is not None):
            yield Remark(row.number, row.smiles, f"{CONTRADICTION}: the molecule of row {before.number}")

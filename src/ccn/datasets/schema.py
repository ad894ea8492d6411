"""Which columns of a table of molecules mean what: named by the user or detected in the first rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ccn.chemistry.smiles import parses
from ccn.datasets.tables import Row, Table, find_column, is_missing, number
from ccn.errors import DataError

__all__ = ["COLUMN_OPTIONS", "Schema", "find_schema"]

COLUMN_OPTIONS = ("smiles_column", "target_columns", "weight_column", "group_column", "split_column", "id_column")
"""Options of :func:`find_schema`."""

_SMILES_NAMES = ("smiles", "canonical_smiles", "isomeric_smiles", "smiles_string", "mol", "molecule", "structure")
_ID_NAMES = ("id", "index", "idx", "no", "no.", "number", "row", "name", "title", "cid", "key", "inchikey")
_FEW = 20  # distinct words that may be classes
_LOOK = 50  # rows that are parsed to detect SMILES


@dataclass(frozen=True)
class Schema:
    """The columns of a table of molecules, by name.

    Attributes:
        words: the targets whose cells are words, which can only be classes.

    """

    smiles: str
    targets: tuple[str, ...] = ()
    weight: str | None = None
    group: str | None = None
    split: str | None = None
    id: str | None = None
    words: frozenset[str] = field(default=frozenset())


def find_schema(
    table: Table,
    *,
    smiles_column: str | None = None,
    target_columns: str | Iterable[str] | None = None,
    weight_column: str | None = None,
    group_column: str | None = None,
    split_column: str | None = None,
    id_column: str | None = None,
) -> Schema:
    """The columns of a table of molecules, as named or detected in its first 1,000 rows.

    Without names, the SMILES column is one whose name says so or whose cells RDKit reads as molecules; targets are
    all columns of numbers except row counters, else a single column of a few words.
    """
    named = {
        what: None if name is None else table.columns[find_column(table, name, f"{what}_column")]
        for what, name in (
            ("smiles", smiles_column),
            ("weight", weight_column),
            ("group", group_column),
            ("split", split_column),
            ("id", id_column),
        )
    }
    if isinstance(target_columns, str):
        target_columns = [target_columns]
    targets = None
    if target_columns is not None:
        targets = tuple(table.columns[find_column(table, name, "target_columns")] for name in target_columns)
    sample = table.sample()
    cells = dict(zip(table.columns, zip(*(row.cells for row in sample), strict=True), strict=True)) if sample else {}
    smiles = named["smiles"] or _smiles(table, sample)
    taken = {smiles, *(name for name in named.values() if name)}
    if targets is None:
        targets = _targets({name: column for name, column in cells.items() if name not in taken})
    identifier = named["id"]
    if identifier is None:
        free = [name for name in table.columns if name not in taken and name not in targets]
        identifier = next((name for name in free if name.lower() in _ID_NAMES), None)
    words = frozenset(name for name in targets if name in cells and not _numeric(cells[name]))
    return Schema(smiles, targets, named["weight"], named["group"], named["split"], identifier, words)


def _smiles(table: Table, sample: Sequence[Row]) -> str:
    """The column of SMILES."""
    lower = {name.lower(): name for name in reversed(table.columns)}
    for name in _SMILES_NAMES:
        if name in lower:
            return lower[name]
    for name in table.columns:
        if "smiles" in name.lower():
            return name

    def score(i: int) -> tuple[float, float]:
        """Share of the cells that are molecules, and their mean length; a number is none."""
        column = [c for row in sample[:_LOOK] if (c := row.cells[i].strip())]
        if not column:
            return 0.0, 0.0
        good = [c for c in column if number(c) is None and parses(c)]
        return len(good) / len(column), sum(map(len, good)) / len(column)

    scores = [score(i) for i in range(len(table.columns))]
    best = max(range(len(scores)), key=lambda i: scores[i])
    if scores[best][0] <= 0.5:
        shown = ", ".join(map(repr, table.columns[:10])) + (".." if len(table.columns) > 10 else "")
        raise DataError(
            f"{table.path}: no column of SMILES among {shown}; name it with smiles_column (--smiles-column)"
        )
    return table.columns[best]


def _numeric(column: Sequence[str]) -> bool:
    """Whether at least half of the cells that are there are numbers."""
    given = [c for c in column if not is_missing(c)]
    return 2 * sum(number(c) is not None for c in given) >= len(given)


def _counts_rows(column: Sequence[str]) -> bool:
    """Whether the cells are consecutive integers."""
    values = [int(c) if c.strip().isdecimal() else None for c in column]
    return len(values) > 2 and all(a is not None and b == a + 1 for a, b in itertools.pairwise(values))


def _targets(cells: dict[str, Sequence[str]]) -> tuple[str, ...]:
    """Columns that look like targets."""
    candidates = {name: column for name, column in cells.items() if name.lower() not in _ID_NAMES}
    candidates = {name: column for name, column in candidates.items() if not all(map(is_missing, column))}
    numbers = [name for name, column in candidates.items() if _numeric(column)]
    if numbers:
        # In a table of three rows anything may look like a counter: it is left out only if others remain.
        return tuple(name for name in numbers if not _counts_rows(candidates[name])) or tuple(numbers)
    few = []
    for name, column in candidates.items():
        distinct = {c.strip() for c in column if not is_missing(c)}
        if 2 <= len(distinct) <= min(_FEW, len(column) // 2):
            few.append(name)
    return tuple(few) if len(few) == 1 else ()

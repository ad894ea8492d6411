"""What commands and reports say of a run: tables of metrics and members, sentences about its rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ccn.learning.metrics import LABELS

__all__ = [
    "censored_text",
    "crossed_rows",
    "figure",
    "leaderboard_rows",
    "metrics_rows",
    "overlap_text",
    "replicates_text",
]

_NEW = "new molecules"


def figure(value: float | None) -> str:
    """A number with four significant digits; a dash where it is undefined."""
    return "-" if value is None or not math.isfinite(value) else f"{value:.4g}"


def metrics_rows(
    found: Mapping[str, Mapping[str, float]], overlap: Mapping[str, Any] | None = None
) -> tuple[list[str], list[list[str]]]:
    """Head and rows of a table of metrics: one row per metric, one column per part.

    With the ``overlap`` of the parts (:meth:`ccn.learning.model.Model.overlap`), a part that has any gets a second
    column, without it.
    """
    columns: dict[str, Mapping[str, float]] = {}
    for part, values in found.items():
        if part != "calibration":  # used for the intervals only
            columns[part] = values
            without = ((overlap or {}).get(part) or {}).get("without")
            if without:
                columns[f"{part}, {_NEW}" if part else _NEW] = without["metrics"]
    if len(columns) > 1 and "" in columns:
        columns = {part or "all rows": values for part, values in columns.items()}
    names = list(next(iter(columns.values()), {}))
    return ["", *columns], [[LABELS.get(n, n), *(figure(c.get(n)) for c in columns.values())] for n in names]


def leaderboard_rows(board: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Head and rows of a table of the members of a stack: their metrics, weights and processor time."""
    names = list(board[0]["metrics"])
    rows = []
    for row in board:
        weight, seconds = ("" if row.get(key) is None else figure(row[key]) for key in ("weight", "seconds"))
        name = row["method"] if "folds" not in row else f"{row['method']} ({row['folds']} folds)"
        rows.append([name, *(figure(row["metrics"][n]) for n in names), weight, seconds])
    return ["", *(LABELS.get(n, n) for n in names), "weight", "seconds"], rows


def overlap_text(found: Mapping[str, Any] | None, rows: int, where: str = "") -> str:
    """One sentence on the rows whose molecules the model was made with; ``where`` says of which part they are."""
    if found is None:
        return "Whether the model was trained on any of these rows is unknown: its file has no hashes of molecules."
    there = {part: found[part] for part in ("train", "validation") if found.get(part)}
    more = "" if found["exact"] else " There may be more: another version of RDKit wrote the SMILES of training."
    if not there:
        return f"No molecule of the {rows:,} {where}rows was used in training.{more}"
    counts, kept = ", ".join(f"{part} {count:,}" for part, count in there.items()), found["without"]["rows"]
    interval = (found["without"]["interval"] if kept else None) or {}
    covered = (
        f"; intervals covered {100 * interval['coverage']:.1f} % of their targets" if "coverage" in interval else ""
    )
    return (
        f"{sum(there.values()):,} of the {rows:,} {where}rows are molecules that were used in training ({counts}); the "
        f"column {_NEW!r} has the metrics of the {kept:,} others{covered}.{more}"
    )


def crossed_rows(found: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Head and rows of a table of the metrics of cross-validation."""
    names = {
        "mean": f"mean of {found['folds']} folds",
        "deviation": "standard deviation",
        "pooled": "all rows together",
    }
    return metrics_rows({title: found[key] for key, title in names.items()})


def censored_text(found: Mapping[str, Any]) -> str:
    """One sentence on the values that are known by a bound alone."""
    values = ", ".join(f"{name} {count:,}" for name, count in found["values"].items() if count)
    return (
        f"Censored values: {values}. Of {found['rows']:,} rows with no others, {found['trained_on']:,} are used as "
        f"bounds in training and {found['left_out']:,} are left out; metrics and intervals are of exact values."
    )


def replicates_text(found: Mapping[str, Any]) -> str:
    """One or two sentences on the measurements that were joined and on their spread."""
    if not found["rows"]:
        return "Replicates: no molecule has several rows."
    said = (
        f"Replicates: {found['rows']:,} rows joined into {found['molecules']:,} molecules ({found['how']}); "
        f"{found['disagreeing']:,} of these disagree strongly (replicates.csv)."
    )
    spread = ", ".join(f"{name} {figure(s)}" for name, s in found["median_spread"].items() if s is not None)
    return f"{said} Differences below the median spread cannot be resolved: {spread}." if spread else said

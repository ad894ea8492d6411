"""What looks alike in a data set, as tables, a section of a page with drawn pairs, and a file.

The classes come from :func:`ccn.expressivity.alike`. A floor is the least error on these very rows of any model for
which graphs of one class are equal: zero, or accuracy 1, where all are told apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from ccn.datasets import Dataset
from ccn.datasets.findings import described
from ccn.datasets.pictures import draw_graphs, layout
from ccn.expressivity.alike import MESSAGE_PASSING, SAME, Alike, Pair, accuracy_ceiling, error_floors
from ccn.reports.figures import INK, Picture
from ccn.reports.markup import csv_text
from ccn.reports.page import Block, Section, paragraph, table
from ccn.reports.sections.data import pair_figure, pair_tiles
from ccn.reports.summary import figure

__all__ = ["as_csv", "counts", "expressivity_section", "floors", "plain", "spoken"]

_LOOKED_AT = 20_000  # pairs from which those that are shown are chosen
_SHOWN = 6


def spoken(view: str) -> str:
    """How tables call a view."""
    if view == MESSAGE_PASSING:
        return "message passing (1-WL)"
    return "the graph itself" if view == SAME else f"covariant, {view}"


def counts(found: Alike) -> tuple[list[str], list[list[str]]]:
    """Head and rows of a table: to each view, how many different graphs look alike."""
    head = ["seen by", "graphs that look like another", "pairs alike"]
    views = [v for v in found.views if v != SAME]
    return head, [[spoken(v), f"{found.graphs_alike(v):,}", f"{found.pairs_alike(v):,}"] for v in views]


def plain(found: Alike, data: Dataset) -> dict[str, Any]:
    """The numbers of both tables, for JSON."""
    views = [v for v in found.views if v != SAME]
    return {
        "graphs": len(found.same),
        "repeated": len(found.same) - len(np.unique(found.same)),
        "alike": {v: {"graphs": found.graphs_alike(v), "pairs": found.pairs_alike(v)} for v in views},
        "floors": _floors(found, data),
        "skipped": found.skipped,
        "undecided": found.undecided,
    }


def _floors(found: Alike, data: Dataset) -> list[dict[str, Any]]:
    if data.per != "graph":
        return []
    out = []
    for name, y in zip(data.target_names, np.asarray(data.targets, dtype=np.float64).T, strict=True):
        if data.task == "classification":
            of = {v: accuracy_ceiling(classes, y) for v, classes in found.views.items()}
            out.append({"target": name, "metric": "accuracy at most", "floor": of})
            continue
        both = {v: error_floors(classes, y) for v, classes in found.views.items()}
        for i, metric in enumerate(("MAE at least", "RMSE at least")):
            out.append({"target": name, "metric": metric, "floor": {v: pair[i] for v, pair in both.items()}})
    return out


def floors(found: Alike, data: Dataset, most: int = 30) -> tuple[list[str], list[list[str]]]:
    """Head and rows of a table: for each target what the best function of each view's classes could reach."""
    rows = [[f["target"], f["metric"], *map(figure, f["floor"].values())] for f in _floors(found, data)]
    return ["target", "best possible", *found.views], rows[:most]


def expressivity_section(found: Alike, data: Dataset, most: int = _SHOWN) -> Section:
    """The tables, and pairs that look alike to message passing: those whose targets differ most."""
    repeated = len(found.same) - len(np.unique(found.same))
    head, rows = counts(found)
    blocks: list[Block] = [
        paragraph(
            "A model that cannot tell two graphs apart gives both the same answer, whatever it was trained on. Each "
            "line counts different graphs that look alike in these features, to message passing and to covariant "
            "networks of orders up to this one together."
        ),
        table(head, rows),
    ]
    if repeated:
        blocks.append(
            paragraph(
                "Rows that repeat a graph: {rows}. In these features they are the same to every model.",
                rows=f"{repeated:,}",
            )
        )
    if (targets := floors(found, data))[1]:
        blocks.append(paragraph("What that leaves at best on these rows, for each target:"))
        blocks.append(table(*targets, left=2))
    if shown := _widest(found.pairs(), data, most):
        blocks.append(
            paragraph("Different graphs that message passing cannot tell apart, by how their targets differ:")
        )
        blocks += _drawn(shown, data)
    return Section("What can be told apart", blocks)


def _widest(pairs: Iterable[Pair], data: Dataset, most: int) -> list[Pair]:
    """The pairs whose targets differ most, in standard deviations."""
    some = list(islice(pairs, _LOOKED_AT))
    if data.per != "graph" or not len(data.target_names):
        return some[:most]
    y, scale = np.asarray(data.targets, dtype=np.float64), _deviations(data)
    apart = [float(np.nan_to_num(np.abs(y[p.first] - y[p.second]) / scale).max()) for p in some]
    return [some[i] for i in np.argsort([-a for a in apart], kind="stable")[:most]]


def _deviations(data: Dataset) -> list[float]:
    """The standard deviation of each target, 1 where it has none."""
    columns = np.asarray(data.targets, dtype=np.float64).T
    return [float(np.nanstd(y)) or 1.0 if (~np.isnan(y)).any() else 1.0 for y in columns]


def _told(pair: Pair) -> str:
    return f"told apart by {spoken(pair.told)}" if pair.told else "told apart by none of these"


def _drawn(pairs: Iterable[Pair], data: Dataset) -> list[Block]:
    both = [(p, (p.first, p.second)) for p in pairs]
    if data.smiles is not None:
        targets = data.target_names if data.per == "graph" else ()
        spread = [{"deviation": x} for x in _deviations(data)] if targets else []
        d = {"targets": targets, "units": data.units, "distributions": spread}
        return [pair_tiles([pair_figure(d, [described(data, i) for i in rows], _told(p)) for p, rows in both])]
    names = data.vertex_names if len(data.vertex_names) == data.pack.width else ()
    return [
        [
            Picture(
                f"alike-{number}",
                "two graphs that look alike",
                partial(draw_graphs, [layout(data, i) for i in rows], names, INK),
                (6.4, 3.4),
                _told(p),
            )
            for number, (p, rows) in enumerate(both, 1)
        ]
    ]


def as_csv(found: Alike, data: Dataset) -> str:
    """A line for every row that looks like another to message passing: its number, name and targets, and its class in
    each view. Rows with one number in a column look alike to that view.
    """
    coarse = found.views[MESSAGE_PASSING]
    rows = np.flatnonzero(np.bincount(coarse)[coarse] > 1)
    rows = rows[np.lexsort((rows, *(of[rows] for of in reversed(found.views.values()))))]
    named = [name for name, column in (("id", data.ids), ("smiles", data.smiles)) if column is not None]
    targets = data.target_names if data.per == "graph" else ()
    lines = []
    for i in rows.tolist():
        one: dict[str, Any] = described(data, i) if data.per == "graph" else {"row": i + 1, "values": []}
        classes = [int(of[i]) for of in found.views.values()]
        lines.append([one["row"], *(one.get(n) for n in named), *one["values"], *classes])
    return csv_text(["row", *named, *targets, *found.views], lines)

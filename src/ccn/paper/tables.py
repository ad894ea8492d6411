"""From records to the paper's tables: our figures beside the paper's, with what is missing and what is significant.

A table compares methods on items: data sets, metrics or targets. :mod:`ccn.paper.formats` writes it down.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import fmean, stdev

from ccn.errors import ConfigurationError
from ccn.paper import figures as paper
from ccn.paper import notes
from ccn.paper.cells import FLOOR, METHODS, SPLITS, TABLES
from ccn.paper.figures import Quoted
from ccn.paper.records import Record, Status
from ccn.paper.significance import corrected_t_test

__all__ = ["FLOOR", "MISSING", "NAMES", "Figure", "Table", "table"]

MISSING = "\N{EN DASH}"
_LEVEL = 0.05
_ROUNDING = 1e-9  # means of the same counts over splits, summed in another order, differ by less
_TABLE_OF = {dataset.lower(): name for name, datasets in TABLES.items() for dataset in datasets}
_BREC, _TOTAL = ("BREC basic", "BREC regular", "BREC extension"), "BREC"


@dataclass(frozen=True)
class Figure:
    """What a method reached on an item.

    Attributes:
        values: by split.
        splits: how many there should be.
        timeouts, failures: splits that ended so.
        quoted: what the paper says.
        best: no method has a better mean by more than rounding, among those with as many splits.
        close: not the best, and not significantly worse.

    """

    values: Mapping[int, float] = field(default_factory=dict)
    splits: int = 1
    timeouts: int = 0
    failures: int = 0
    quoted: Quoted | None = None
    best: bool = False
    close: bool = False

    @property
    def mean(self) -> float | None:
        return fmean(self.values.values()) if self.values else None

    @property
    def deviation(self) -> float | None:
        """Over splits, where there are several."""
        return stdev(self.values.values()) if len(self.values) > 1 else None

    def text(self, form: str) -> str:
        """The mean and the deviation, and how many splits are behind them if some are missing."""
        ended = [(self.timeouts, "timed out"), (self.failures, "failed")]
        if not self.values:
            return next((word for count, word in ended if count), MISSING)
        shown = f"{self.mean:{form}}" + ("" if self.deviation is None else f" ± {self.deviation:{form}}")
        if len(self.values) == self.splits:
            return shown
        why = "".join(f", {count} {word}" for count, word in ended if count)
        return f"{shown} ({len(self.values)} of {self.splits} splits{why})"


@dataclass(frozen=True)
class Table:
    """Methods on items.

    Attributes:
        figures: by (item, method).
        form: how numbers are formatted.
        across: methods are columns and items rows, rather than the other way round.
        labels: of items and methods, where they are not their names.
        notes: what a reader must know.

    """

    name: str
    title: str
    items: tuple[str, ...]
    methods: tuple[str, ...]
    figures: Mapping[tuple[str, str], Figure]
    form: str
    across: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def label(self, name: str) -> str:
        """How an item or method is called in the table."""
        return self.labels.get(name, name)


@dataclass(frozen=True)
class _Point:
    """What a record says of one item."""

    item: str
    method: str
    split: int
    status: Status
    value: float | None = None


def table(name: str, records: Iterable[Record]) -> Table:
    """A table by its name or that of one of its data sets, from what is recorded so far."""
    asked, name = name, _TABLE_OF.get(name.lower(), name.lower())
    if name not in _TABLES:
        raise ConfigurationError(f"{asked!r} is not a table; choose from {', '.join(NAMES)}")
    datasets = TABLES[name.partition("-")[0]]
    of = [r for r in records if (r.metric == "pairs" if name == "expressivity" else r.dataset in datasets)]
    return _TABLES[name](of)


# The tables


def _kernels(records: Sequence[Record]) -> Table:
    records = [r for r in records if r.split < SPLITS]
    points = _points(records, lambda r: {} if r.test is None else {r.dataset: 100 * r.test})
    made = Table(
        "kernels",
        "Accuracy on the test part in percent, mean ± standard deviation over splits.",
        TABLES["kernels"],
        *_figures(points, TABLES["kernels"], partial(paper.quoted, "kernels"), max, SPLITS),
        form=".2f",
    )
    return _with_notes(made, records, *paper.notes("kernels"))


def _more_splits(records: Sequence[Record]) -> Table:
    more = {(r.dataset, r.method) for r in records if r.split >= SPLITS}
    records = [r for r in records if (r.dataset, r.method) in more]
    items = tuple(d for d in TABLES["kernels"] if any(d == dataset for dataset, _ in more))
    points = _points(records, lambda r: {} if r.test is None else {r.dataset: 100 * r.test})
    made = Table(
        "kernels-more",
        "The same of cheap methods over more splits, of which those above are the first.",
        items,
        *_figures(points, items, lambda method, item: None, max),
        form=".2f",
    )
    splits = ", ".join(f"{max(r.split for r in records if r.dataset == item) + 1} of {item}" for item in items)
    return _with_notes(made, records, *([f"Splits: {splits}."] if splits else []))


def _hcep(records: Sequence[Record]) -> Table:
    labels = {"mae": "MAE", "rmse": "RMSE", "fraction": "MAE / MAE of boosting"}

    def errors(r: Record) -> dict[str, float]:
        if not r.details:
            return {} if r.test is None else {"mae": r.test}
        return {m: r.details[m][0] for m in ("mae", "rmse") if r.details[m][0] is not None}

    trees = {r.split: errors(r) for r in records if r.method == "boosting" and r.status == "done"}

    def values(r: Record) -> dict[str, float]:
        found, by = errors(r), trees.get(r.split, {})
        return found | ({"fraction": found["mae"] / by["mae"]} if "mae" in found and by.get("mae") else {})

    def quoted(method: str, item: str) -> Quoted | None:
        if item != "fraction":
            return paper.quoted("hcep", method, item)
        return _computed([paper.quoted("hcep", m, "mae") for m in (method, "boosting")], lambda of, by: of / by)

    made = Table(
        "hcep",
        "Errors of the power conversion efficiency (percent) on the test part of HCEP.",
        tuple(labels),
        *_figures(_points(records, values, labels), tuple(labels), quoted, min),
        form=".3f",
        labels=labels,
    )
    return _with_notes(made, records, *paper.notes("hcep"))


def _qm9(name: str, metric: str, scaled: bool, records: Sequence[Record]) -> Table:
    from ccn.datasets.qm9 import TARGETS

    mean = f"mean scaled {metric.upper()}"
    items = (*TARGETS, mean) if scaled else tuple(TARGETS)

    def values(r: Record) -> dict[str, float]:
        if not r.details:
            return {mean: r.test} if scaled and metric == "mae" and r.test is not None else {}
        of = zip(r.details["targets"], r.details[metric], r.details["scale"], strict=True)
        found = {target: error / scale if scaled else error for target, error, scale in of if error is not None}
        return found | ({mean: fmean(found.values())} if len(found) == len(TARGETS) else {})

    def quoted(method: str, item: str) -> Quoted | None:
        if item != mean:
            return paper.quoted(f"qm9-{metric}", method, item)
        return _computed([paper.quoted(f"qm9-{metric}", method, t) for t in TARGETS], lambda *of: fmean(of))

    unit = "in standard deviations of the training part" if scaled else "in the units of the targets"
    made = Table(
        name,
        f"{metric.upper()} of the 13 targets of QM9 on the test part, {unit}.",
        items,
        *_figures(_points(records, values, items), items, quoted if scaled else lambda method, item: None, min),
        form=".3f" if scaled else ".4g",
        across=True,
        labels={} if scaled else {target: f"{target} ({unit})" for target, unit in TARGETS.items()},
    )
    floor = (
        f"{FLOOR}: what no function of the elements of heavy atoms and of which of them are bonded can get below, over "
        "all molecules."
    )
    return _with_notes(made, records, *([floor] if FLOOR in made.methods else []), *paper.notes("qm9") * scaled)


def _expressivity(records: Sequence[Record]) -> Table:
    from ccn.paper import expressivity

    points = _points(records, lambda r: {} if r.test is None else {r.dataset: r.test})
    pairs = {r.dataset: r.details["pairs"] for r in records if r.status == "done" and r.details}
    for method in dict.fromkeys(r.method for r in records):
        parts = [p.value for p in points if p.method == method and p.item in _BREC and p.value is not None]
        if len(parts) == len(_BREC):
            points.append(_Point(_TOTAL, method, 0, "done", sum(parts)))
            if pairs.keys() >= set(_BREC):
                pairs[_TOTAL] = sum(pairs[name] for name in _BREC)
    items = (*_BREC, _TOTAL, *sorted({p.item for p in points} - {*_BREC, _TOTAL}))
    made = Table(
        "expressivity",
        "Pairs of graphs, not isomorphic, that are told apart.",
        items,
        *_figures(points, items, lambda method, item: None, max),
        form=".0f",
        labels={item: f"{item} ({count} pairs)" for item, count in pairs.items()},
    )
    how = (
        f"Networks have random weights, {expressivity.CHANNELS} channels and tanh, in float64; a pair is apart if one "
        f"of {expressivity.SEEDS} seeds says so, against how {expressivity.NUMBERINGS} numberings of a graph differ."
    )
    return _with_notes(made, records, *([how] if records else []))


_TABLES: dict[str, Callable[[Sequence[Record]], Table]] = {
    "kernels": _kernels,
    "kernels-more": _more_splits,
    "hcep": _hcep,
    "qm9": partial(_qm9, "qm9", "mae", True),
    "qm9-rmse": partial(_qm9, "qm9-rmse", "rmse", True),
    "qm9-units": partial(_qm9, "qm9-units", "mae", False),
    "expressivity": _expressivity,
}
NAMES = tuple(_TABLES)
"""The tables."""


# What they share


def _points(
    records: Sequence[Record], values: Callable[[Record], Mapping[str, float]], items: Iterable[str] = ()
) -> list[_Point]:
    """What records say of items, or of their data sets."""
    points = []
    for r in records:
        found = values(r) if r.status == "done" else {}
        points += [_Point(item, r.method, r.split, r.status, found.get(item)) for item in items or (r.dataset,)]
    return points


def _computed(quoted: Sequence[Quoted | None], formula: Callable[..., float]) -> Quoted | None:
    """What follows from figures of the paper, if it has them all."""
    values = [q.value for q in quoted if q is not None]
    if len(values) < len(quoted):
        return None
    value = formula(*values)
    return Quoted(f"{value:.3f}", value)


def _figures(
    points: Sequence[_Point],
    items: Sequence[str],
    quoted: Callable[[str, str], Quoted | None],
    better: Callable[[Iterable[float]], float],
    splits: int = 1,
) -> tuple[tuple[str, ...], dict[tuple[str, str], Figure]]:
    """The methods that we or the paper have figures of, in order, and all figures, compared item by item."""
    ran = dict.fromkeys(p.method for p in points)
    known = [m for m in METHODS if m in ran or any(quoted(m, item) for item in items)]
    methods = (*known, *sorted(m for m in ran if m not in (*METHODS, FLOOR)), *(m for m in ran if m == FLOOR))
    found: dict[tuple[str, str], Figure] = {}
    for item in items:
        row = {}
        most = max([splits, *(p.split + 1 for p in points if p.item == item)])
        for method in methods:
            own = [p for p in points if (p.item, p.method) == (item, method)]
            row[method] = Figure(
                values={p.split: p.value for p in own if p.value is not None},
                splits=1 if method == FLOOR else most,
                timeouts=sum(p.status == "timeout" for p in own),
                failures=sum(p.status == "failed" for p in own),
                quoted=quoted(method, item),
            )
        found |= {(item, method): figure for method, figure in _compared(row, better).items()}
    return methods, found


def _compared(row: Mapping[str, Figure], better: Callable[[Iterable[float]], float]) -> dict[str, Figure]:
    """The figures of an item with the best marked, and those that are not significantly worse."""
    most = max((len(f.values) for name, f in row.items() if name != FLOOR), default=0)
    rivals = {name: f for name, f in row.items() if name != FLOOR and len(f.values) == most > 0}
    if not rivals:
        return dict(row)
    top = better(f.mean for f in rivals.values() if f.mean is not None)
    best = {
        name: f for name, f in rivals.items() if f.mean is not None and math.isclose(f.mean, top, rel_tol=_ROUNDING)
    }
    out = dict(row)
    for name, f in rivals.items():
        close = name not in best and all(_not_worse(f, champion) for champion in best.values())
        out[name] = replace(f, best=name in best, close=close)
    return out


def _not_worse(figure: Figure, champion: Figure) -> bool:
    """Whether a test over the splits that both have finds no significant difference."""
    shared = sorted(set(figure.values) & set(champion.values))
    ours, theirs = ([f.values[split] for split in shared] for f in (figure, champion))
    return len(shared) > 1 and corrected_t_test(ours, theirs) >= _LEVEL


def _with_notes(made: Table, records: Sequence[Record], *more: str) -> Table:
    """The table with what its marks mean, and what methods were given."""
    own = (
        ["Bold: the best of ours, among methods with as many splits."]
        if any(f.best for f in made.figures.values())
        else []
    )
    if any(f.close for f in made.figures.values()):
        own.append(
            "†: not significantly worse than the best (corrected resampled t-test of Nadeau and Bengio, two-sided, "
            f"level {_LEVEL}; the ratio of test to training rows is 1/8)."
        )
    labels, rows = notes.fewer_rows(records, made.methods)
    own += [*notes.timeouts(records), *notes.what_was_given(records, made.methods), *rows]
    return replace(made, labels={**labels, **made.labels}, notes=(*own, *more))

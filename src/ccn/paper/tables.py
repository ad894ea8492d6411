"""The paper's tables, made from records; :mod:`ccn.paper.formats` writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import fsum
from statistics import fmean

from ccn.errors import ConfigurationError
from ccn.paper import notes
from ccn.paper.cells import FLOOR, SPLITS, TABLES
from ccn.paper.comparison import Quoted, Table, compare, paper_notes, quoted
from ccn.paper.records import Record

__all__ = ["NAMES", "table"]

_TABLE_OF = {dataset.lower(): name for name, datasets in TABLES.items() for dataset in datasets}
_BREC = TABLES["expressivity"][:3]


def table(name: str, records: Iterable[Record]) -> Table:
    """A table by its name or that of one of its data sets, from what is recorded so far."""
    known = _TABLE_OF.get(name.lower(), name.lower())
    if known not in _TABLES:
        raise ConfigurationError(f"{name!r} is not a table; choose from {', '.join(NAMES)}")
    datasets = TABLES[known.partition("-")[0]]
    return _TABLES[known]([r for r in records if r.dataset in datasets])


def _kernels(records: Sequence[Record]) -> Table:
    title = "Accuracy on the test part in percent, mean ± standard deviation over splits."
    of = _by_dataset([r for r in records if r.split < SPLITS], TABLES["kernels"])
    empty = Table("kernels", title, ".2f", notes=paper_notes("kernels"))
    return _filled(empty, of, partial(_test, 100), max, partial(quoted, "kernels"), SPLITS)


def _more_splits(records: Sequence[Record]) -> Table:
    more = {(r.dataset, r.method) for r in records if r.split >= SPLITS}
    items = [d for d in TABLES["kernels"] if any(d == dataset for dataset, _ in more)]
    of = _by_dataset([r for r in records if (r.dataset, r.method) in more], items)
    splits = ", ".join(f"{max(r.split for r in of_item) + 1} of {item}" for item, of_item in of.items())
    title = "Cheap methods over more splits; the first ten are those above."
    empty = Table("kernels-more", title, ".2f", notes=(f"Splits: {splits}.",) if splits else ())
    return _filled(empty, of, partial(_test, 100), max)


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

    def of_paper(method: str, item: str) -> Quoted | None:
        if item != "fraction":
            return quoted("hcep", method, item)
        return _computed([quoted("hcep", m, "mae") for m in (method, "boosting")], lambda of, by: of / by)

    title = "Errors of the power conversion efficiency (percent) on the test part of HCEP."
    empty = Table("hcep", title, ".3f", labels=labels, notes=paper_notes("hcep"))
    return _filled(empty, dict.fromkeys(labels, records), values, min, of_paper)


def _qm9(name: str, metric: str, scaled: bool, records: Sequence[Record]) -> Table:
    from ccn.datasets.published import TARGETS

    mean = f"mean scaled {metric.upper()}"

    def values(r: Record) -> dict[str, float]:
        if not r.details:
            return {mean: r.test} if scaled and metric == "mae" and r.test is not None else {}
        of = zip(r.details["targets"], r.details[metric], r.details["scale"], strict=True)
        found = {target: error / scale if scaled else error for target, error, scale in of if error is not None}
        return found | ({mean: fmean(found.values())} if len(found) == len(TARGETS) else {})

    def of_paper(method: str, item: str) -> Quoted | None:
        if item != mean:
            return quoted(f"qm9-{metric}", method, item)
        return _computed([quoted(f"qm9-{metric}", method, t) for t in TARGETS], lambda *of: fmean(of))

    floor = (
        f"{FLOOR}: the least error, over all molecules, of any function of the elements of heavy atoms and of which of "
        "them are bonded."
    )
    said = (floor,) * any(r.method == FLOOR for r in records)
    title = f"{metric.upper()} of the 13 targets of QM9 on the test part, in "
    if scaled:
        title += "standard deviations of the training part."
        empty = Table(name, title, ".3f", across=True, notes=(*said, *paper_notes("qm9")))
        return _filled(empty, dict.fromkeys((*TARGETS, mean), records), values, min, of_paper)
    labels = {target: f"{target} ({unit})" for target, unit in TARGETS.items()}
    empty = Table(name, title + "the units of the targets.", ".4g", across=True, labels=labels, notes=said)
    return _filled(empty, dict.fromkeys(TARGETS, records), values, min)


def _expressivity(records: Sequence[Record]) -> Table:
    from ccn.paper import expressivity

    of = _by_dataset(records, TABLES["expressivity"])
    pairs = {item: r.details["pairs"] for item, of_item in of.items() for r in of_item if "pairs" in r.details}
    done = [{r.method: r for r in of[name] if r.status == "done" and r.test is not None} for name in _BREC]
    total = [
        replace(first, dataset="BREC", test=fsum(part[method].test or 0 for part in done))
        for method, first in done[0].items()
        if all(method in part for part in done)
    ]
    if pairs.keys() >= set(_BREC):
        pairs["BREC"] = sum(pairs[name] for name in _BREC)
    others = {item: of_item for item, of_item in of.items() if item not in _BREC and of_item}
    how = (
        f"Networks have random weights, {expressivity.CHANNELS} channels and tanh, in float64; a pair is told apart if "
        f"one of {expressivity.SEEDS} seeds does so, compared with how {expressivity.NUMBERINGS} numberings of a graph "
        "differ."
    )
    labels = {item: f"{item} ({count} pairs)" for item, count in pairs.items()}
    title = "Pairs of non-isomorphic graphs that are told apart."
    empty = Table("expressivity", title, ".0f", labels=labels, notes=(how,) if records else ())
    items = {**{name: of[name] for name in _BREC}, "BREC": total, **others}
    return _filled(empty, items, partial(_test, 1), max)


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


def _nothing(method: str, item: str) -> None:
    """The paper's figure, where it has none."""


def _filled(
    empty: Table,
    records: Mapping[str, Sequence[Record]],
    values: Callable[[Record], Mapping[str, float]],
    better: Callable[[Iterable[float]], float],
    quoted: Callable[[str, str], Quoted | None] = _nothing,
    splits: int = 1,
) -> Table:
    """The table with its figures and further notes; ``records`` are those of each item."""
    methods, figures = compare(records, values, quoted, better, splits)
    every = list({id(r): r for of_item in records.values() for r in of_item}.values())
    fewer, rows = notes.fewer_rows(every, methods)
    said = [*notes.marks(figures.values()), *notes.timeouts(every), *notes.settings(every, methods), *rows]
    labels = {**fewer, **empty.labels}
    made = replace(empty, labels=labels, notes=(*said, *empty.notes))
    return replace(made, items=tuple(records), methods=methods, figures=figures)


def _by_dataset(records: Sequence[Record], items: Iterable[str]) -> dict[str, list[Record]]:
    return {item: [r for r in records if r.dataset == item] for item in items}


def _test(factor: float, r: Record) -> dict[str, float]:
    return {} if r.test is None else {r.dataset: factor * r.test}


def _computed(figures: Sequence[Quoted | None], formula: Callable[..., float]) -> Quoted | None:
    """What follows from figures of the paper, if it has them all."""
    values = [q.value for q in figures if q is not None]
    if len(values) < len(figures):
        return None
    value = formula(*values)
    return Quoted(f"{value:.3f}", value)

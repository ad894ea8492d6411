"""The paper's tables, made from records; :mod:`ccn.paper.formats` writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import fsum
from statistics import fmean
from typing import Any

from ccn.errors import ConfigurationError
from ccn.learning.metrics import LABELS, SMALLER
from ccn.paper import notes
from ccn.paper.cells import CONTENDERS, FLOOR, METHODS, NETWORKS, SEEDS, TABLES, WL_TESTS
from ccn.paper.comparison import Better, Figure, Quoted, Table, columns, compare, paper_notes, quoted
from ccn.paper.protocols import FOLDS, PROTOCOLS, SPLITS
from ccn.paper.records import Record, latest
from ccn.paper.tasks import CLIFF_RMSE, OURS, TASKS

__all__ = ["NAMES", "table"]

_TABLE_OF = {dataset.lower(): name for name, datasets in TABLES.items() for dataset in datasets}
_BREC = tuple(name for name in TABLES["expressivity"] if name.startswith("BREC"))
_SEEDS = "mean ± standard deviation over seeds; the test part is fixed."


def table(name: str, records: Iterable[Record]) -> Table:
    """A table by its name or that of one of its data sets, from what is recorded so far; the newest of a cell counts,
    and earlier ones only where looks at test parts are.
    """
    known = _TABLE_OF.get(name.lower(), name.lower())
    if known not in _TABLES:
        raise ConfigurationError(f"{name!r} is not a table; choose from {', '.join(NAMES)}")
    datasets = TABLES[known.partition("-")[0]]
    of_table = [r for r in records if r.dataset in datasets]
    made = _TABLES[known](latest(of_table))
    looks = notes.looks(of_table) if known in ("admet", "cliffs") else []
    return replace(made, notes=(*made.notes, *looks))


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
    labels |= {"train_mae": "train MAE", "train_rmse": "train RMSE"}

    def errors(r: Record) -> dict[str, float]:
        if not r.details:
            return {} if r.test is None else {"mae": r.test}
        of = {"": r.details, "train_": r.details.get("train", {})}
        every = {f"{part}{m}": found[m][0] for part, found in of.items() for m in ("mae", "rmse") if m in found}
        return {item: error for item, error in every.items() if error is not None}

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
    said = (*said, *paper_notes(name))
    empty = Table(name, title + "the units of the targets.", ".4g", across=True, labels=labels, notes=said)
    return _beside(empty, dict.fromkeys(TARGETS, records), values, min)


def _folds(records: Sequence[Record]) -> Table:
    title = "Accuracy on the test part in percent, mean ± standard deviation over folds that others have published."
    empty = Table("folds", title, ".2f", notes=paper_notes("folds"))
    splits = {name: protocol.count for name, protocol in FOLDS.items()}
    return _beside(empty, _by_dataset(records, FOLDS), partial(_test, 100), max, splits)


def _zinc(records: Sequence[Record]) -> Table:
    title = "MAE of the penalised logP on the test part of ZINC-12k, mean ± standard deviation over seeds."
    empty = Table("zinc", title, ".3f", notes=paper_notes("zinc"))
    return _beside(empty, {"ZINC": records}, partial(_test, 1), min, PROTOCOLS["ZINC"].count)


def _beside(
    empty: Table,
    records: Mapping[str, Sequence[Record]],
    values: Callable[[Record], Mapping[str, float]],
    better: Better,
    splits: int | Mapping[str, int] = 1,
) -> Table:
    """A table with figures published elsewhere, of methods of ours and of others."""
    others = tuple(name for name in columns(empty.name) if name not in METHODS)
    how: dict[str, Any] = {"order": (*METHODS, *others), "tested": False}
    made = _filled(empty, records, values, better, partial(quoted, empty.name), splits, **how)
    return replace(made, references=others, source="published")


def _expressivity(records: Sequence[Record]) -> Table:
    from ccn.expressivity.exact import BITS, CHANNELS

    of = _by_dataset(records, TABLES["expressivity"])
    pairs = {item: r.details["pairs"] for item, of_item in of.items() for r in of_item if "pairs" in r.details}
    done = [{r.method: r for r in of[name] if r.status == "done" and r.test is not None} for name in _BREC]
    total = [
        replace(
            first,
            dataset="BREC",
            test=fsum(part[method].test or 0 for part in done),
            seconds=fsum(part[method].seconds for part in done),
        )
        for method, first in done[0].items()
        if all(method in part for part in done)
    ]
    if pairs.keys() >= set(_BREC):
        pairs["BREC"] = sum(pairs[name] for name in _BREC)
    others = {item: of_item for item, of_item in of.items() if item not in _BREC and of_item}
    exact = f"Networks are decided over integers, exactly: {CHANNELS} channels of {BITS} bits."
    how = [f"{exact} Any levels: so many that further ones tell no more pairs apart."]
    how.append("With ccn-2 and ccn-3 order 3 is asked for the pairs that order 2 leaves.")
    if skipped := {f"{r.method} on {r.dataset}: {r.details['skipped']}" for r in records if r.details.get("skipped")}:
        how.append(f"Pairs too large for order 3, which count as not told apart: {'; '.join(sorted(skipped))}.")
    labels = {item: f"{item} ({count} pairs)" for item, count in pairs.items()}
    title = "Pairs of non-isomorphic graphs that are told apart."
    said = (*how, *paper_notes("expressivity")) if records else ()
    empty = Table("expressivity", title, ".0f", labels=labels, notes=said)
    items = {**{name: of[name] for name in _BREC}, "BREC": total, **others}
    order = tuple(dict.fromkeys((*WL_TESTS, *columns("expressivity"), *NETWORKS)))
    made = _filled(empty, items, partial(_test, 1), max, partial(quoted, "expressivity"), order=order, tested=False)
    return _with_row(made, "seconds, BREC", {r.method: r.seconds for r in total}) if total else made


def _admet(records: Sequence[Record]) -> Table:
    labels = {task: f"{task} ({LABELS[TASKS[task].metric]})" for task in TABLES["admet"]}
    better = {task: min if TASKS[task].metric in SMALLER else max for task in labels}
    title = f"Tasks of the ADMET group of TDC, {_SEEDS}"
    empty = Table("admet", title, ".3f", labels=labels, notes=paper_notes("admet"))
    return _tasks(empty, records, partial(_test, 1), better)


def _cliffs(name: str, metric: str, rows: str, records: Sequence[Record]) -> Table:
    def values(r: Record) -> dict[str, float]:
        value = r.details["metrics"][metric]
        return {} if value is None else {r.dataset: value}

    empty = Table(name, f"RMSE on {rows} of assays of MoleculeACE, {_SEEDS}", ".3f", notes=paper_notes("cliffs"))
    return _tasks(empty, records, values, dict.fromkeys(TABLES["cliffs"], min), averaged=True)


def _tasks(
    empty: Table,
    records: Sequence[Record],
    values: Callable[[Record], Mapping[str, float]],
    better: Mapping[str, Better],
    averaged: bool = False,
) -> Table:
    """Tasks as rows with published figures; then the mean, if asked for, the mean rank and the time of the methods that
    have all tasks, and notes that say how often ours are better than others.
    """
    references, of = columns(empty.name), _by_dataset(records, better)
    how: dict[str, Any] = {"order": (*CONTENDERS, *references), "tested": False}
    made = _filled(empty, of, values, better, partial(quoted, empty.name), SEEDS, **how)
    made = replace(made, across=True, references=references, source="published")
    value = {key: f.quoted.value if f.quoted else f.mean for key, f in made.figures.items()}

    def better_on(one: str, other: str, ties: float) -> Iterator[float]:
        """On each task that both have, 1 where one is better than the other, ``ties`` where they are equal."""
        for item, by in better.items():
            a, b = value[item, one], value[item, other]
            if a is not None and b is not None:
                yield ties if a == b else float(by((a, b)) == a)

    said = []
    for rival in (m for m in made.methods if m not in OURS):
        wins = {m: list(better_on(m, rival, float(rival in references))) for m in made.methods if m in OURS}
        counts = [f"{m} on {sum(w):.0f} of {len(w)}" for m, w in wins.items() if w and m != rival]
        than = "At or past" if rival in references else "Better than"
        said += [f"{than} {rival}: {', '.join(counts)}."] if counts else []
    whole = [m for m in made.methods if m not in references and all(value[item, m] is not None for item in better)]
    if averaged:
        means = {m: fmean(value[item, m] or 0 for item in better) for m in (*whole, *references)}
        made = _with_row(made, "mean", means)
    beaten = {m: sum(sum(better_on(other, m, 0.5)) for other in whole if other != m) for m in whole}
    made = _with_row(made, "mean rank", {m: 1 + count / len(better) for m, count in beaten.items()})
    made = _with_row(made, "processor minutes, all tasks", {m: sum(_minutes(of[i], m) for i in better) for m in whole})
    return replace(made, notes=(*made.notes, *said))


def _minutes(records: Sequence[Record], method: str) -> float:
    """Of processor time, in the mean over the cells of a method."""
    return fmean(r.details["processor_seconds"] / 60 for r in records if (r.method, r.status) == (method, "done"))


def _with_row(made: Table, item: str, values: Mapping[str, float]) -> Table:
    """The table with a row of figures, of which the least is the best."""
    ours = {m: v for m, v in values.items() if m not in made.references}
    said = {m: Quoted(f"{v:{made.form}}", v) for m, v in values.items() if m in made.references}
    row = {
        (item, m): Figure(
            values={0: ours[m]} if m in ours else {},
            quoted=said.get(m),
            best=m in ours and ours[m] == min(ours.values()),
        )
        for m in made.methods
    }
    return replace(made, items=(*made.items, item), figures={**made.figures, **row})


_TABLES: dict[str, Callable[[Sequence[Record]], Table]] = {
    "kernels": _kernels,
    "kernels-more": _more_splits,
    "hcep": _hcep,
    "qm9": partial(_qm9, "qm9", "mae", True),
    "qm9-rmse": partial(_qm9, "qm9-rmse", "rmse", True),
    "qm9-units": partial(_qm9, "qm9-units", "mae", False),
    "folds": _folds,
    "zinc": _zinc,
    "expressivity": _expressivity,
    "admet": _admet,
    "cliffs": partial(_cliffs, "cliffs", "rmse", "the test part"),
    "cliffs-only": partial(_cliffs, "cliffs-only", CLIFF_RMSE, "the test rows that are part of an activity cliff"),
}
NAMES = tuple(_TABLES)
"""The tables."""


def _filled(
    empty: Table,
    records: Mapping[str, Sequence[Record]],
    values: Callable[[Record], Mapping[str, float]],
    better: Better | Mapping[str, Better],
    quoted: Callable[[str, str], Quoted | None] = lambda method, item: None,
    splits: int | Mapping[str, int] = 1,
    **how: Any,
) -> Table:
    """The table with its figures and further notes; ``records`` are those of each item, ``how`` is for ``compare``."""
    methods, figures = compare(records, values, quoted, better, splits, **how)
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

"""A table of the paper: methods compared on items, which are data sets, metrics or targets.

Our results stand beside the paper's, with what is missing, which is best and which are not significantly worse.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Literal

import numpy as np

from ccn.errors import ConfigurationError
from ccn.paper.cells import FLOOR, METHODS
from ccn.paper.records import Record

__all__ = [
    "LEVEL",
    "MISSING",
    "Better",
    "Figure",
    "Quoted",
    "Table",
    "columns",
    "compare",
    "corrected_t_test",
    "paper_notes",
    "quoted",
]

Better = Callable[[Iterable[float]], float]
"""``min`` or ``max``: which of several values is the best."""

LEVEL = 0.05
"""Significance level."""
MISSING = "\N{EN DASH}"
_ROUNDING = 1e-9  # means of the same counts over splits, summed in another order, differ by less
_PTC = {"PTC_MR": "PTC"}  # the paper does not say which version it used


@dataclass(frozen=True)
class Quoted:
    """A figure of the paper: the text as printed, such as ``TIMED OUT``, and the numbers, if it has any."""

    text: str
    value: float | None = None
    deviation: float | None = None


@dataclass(frozen=True)
class Figure:
    """What a method reached on an item.

    Attributes:
        values: by split.
        splits: how many there should be.
        timeouts, failures: how many splits timed out or failed.
        quoted: the paper's figure.
        best: no method with as many splits has a mean that is better by more than rounding.
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
        """Standard deviation over splits, where there are several."""
        return stdev(self.values.values()) if len(self.values) > 1 else None

    def text(self, form: str) -> str:
        """Mean and deviation, and the number of splits behind them if some are missing."""
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
        form: format of numbers.
        figures: by (item, method).
        across: methods are columns and items rows, rather than the other way round.
        labels: of items and methods, where they differ from their names.
        references: methods that have published figures only; their figures are columns of a table across.
        source: where the figures beside ours are from: the ``paper``, or ``published`` elsewhere.
        notes: printed below the table.
    """

    name: str
    title: str
    form: str
    items: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    figures: Mapping[tuple[str, str], Figure] = field(default_factory=dict)
    across: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    references: tuple[str, ...] = ()
    source: Literal["paper", "published"] = "paper"
    notes: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """The command that makes records for this table."""
        more = "MUTAG --methods ridge,wl --splits 100"
        return f"ccn reproduce {more if self.name == 'kernels-more' else self.name.partition('-')[0]}"

    def label(self, name: str) -> str:
        """The label of an item or method."""
        return self.labels.get(name, name)


@cache
def _paper() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "paper.toml").read_text(encoding="utf-8"))


def quoted(table: str, method: str, item: str) -> Quoted | None:
    """The paper's figure in a table (``kernels``, ``hcep``, ``qm9-mae`` or ``qm9-rmse``), by our name of the method;
    for other tables a figure published elsewhere, by its column.

    Example:
        >>> quoted("kernels", "wl", "MUTAG")
        Quoted(text='84.50 ± 2.16', value=84.5, deviation=2.16)
    """
    text = _paper()[table].get(method, {}).get(_PTC.get(item, item))
    if text is None:
        return None
    try:
        return Quoted(text, *(float(part) for part in text.split("±")))
    except ValueError:
        return Quoted(text)


def columns(table: str) -> tuple[str, ...]:
    """The methods that have published figures in a table."""
    return tuple(_paper().get(table, ()))


def paper_notes(table: str) -> tuple[str, ...]:
    """Notes on the paper's figures in a table; those of ``qm9`` are for both metrics."""
    return tuple(_paper()["notes"].get(table, ()))


def compare(
    records: Mapping[str, Sequence[Record]],
    values: Callable[[Record], Mapping[str, float]],
    quoted: Callable[[str, str], Quoted | None],
    better: Better | Mapping[str, Better],
    splits: int | Mapping[str, int] = 1,
    *,
    order: Sequence[str] = METHODS,
    tested: bool = True,
) -> tuple[tuple[str, ...], dict[tuple[str, str], Figure]]:
    """The methods that we or the paper have figures of, in order, and all figures by item and method.

    Args:
        records: of each item.
        values: from the record of a cell that is done to its figures by item.
        quoted: from method and item to the paper's figure.
        better: ``min`` or ``max``, of all items or by item.
        splits: how many there should be, at least; of all items or by item.
        order: of the methods that are known.
        tested: mark those that are not significantly worse than the best.
    """
    ran = dict.fromkeys(r.method for of_item in records.values() for r in of_item)
    known = [m for m in order if m in ran or any(quoted(m, item) for item in records)]
    methods = (*known, *sorted(ran.keys() - {*order, FLOOR}), *(ran.keys() & {FLOOR}))
    figures: dict[tuple[str, str], Figure] = {}
    for item, of_item in records.items():
        most = max([splits[item] if isinstance(splits, Mapping) else splits, *(r.split + 1 for r in of_item)])
        row = {}
        for method in methods:
            of_method = [r for r in of_item if r.method == method]
            done = {r.split: values(r).get(item) for r in of_method if r.status == "done"}
            row[method] = Figure(
                values={split: value for split, value in done.items() if value is not None},
                splits=1 if method == FLOOR else most,
                timeouts=sum(r.status == "timeout" for r in of_method),
                failures=sum(r.status == "failed" for r in of_method),
                quoted=quoted(method, item),
            )
        by = better[item] if isinstance(better, Mapping) else better
        figures |= {(item, method): figure for method, figure in _marked(row, by, tested).items()}
    return methods, figures


def _marked(row: Mapping[str, Figure], better: Better, tested: bool) -> dict[str, Figure]:
    """The figures of an item with the best marked, and those that are not significantly worse."""
    competing = {name: f for name, f in row.items() if name != FLOOR and f.values}
    most = max((len(f.values) for f in competing.values()), default=0)
    means = {name: f.mean for name, f in competing.items() if f.mean is not None and len(f.values) == most}
    if not means:
        return dict(row)
    top = better(means.values())
    best = {name for name, mean in means.items() if math.isclose(mean, top, rel_tol=_ROUNDING)}
    out = dict(row)
    for name in means:
        close = tested and name not in best and all(_not_worse(row[name], row[champion]) for champion in best)
        out[name] = replace(row[name], best=name in best, close=close)
    return out


def _not_worse(figure: Figure, champion: Figure) -> bool:
    """Whether a test over the splits that both have finds no significant difference."""
    shared = sorted(set(figure.values) & set(champion.values))
    ours, theirs = ([f.values[split] for split in shared] for f in (figure, champion))
    return len(shared) > 1 and corrected_t_test(ours, theirs) >= LEVEL


def corrected_t_test(a: Sequence[float], b: Sequence[float], ratio: float = 1 / 8) -> float:
    """The two-sided p-value of the corrected resampled t-test of Nadeau and Bengio (2003), on the same J splits.

    With the differences ``d`` of J splits, ``t = mean(d) / sqrt((1/J + ratio) var(d))`` has J - 1 degrees of freedom.
    The usual test omits the ratio of test to training rows, as if overlapping splits were independent.

    Example:
        >>> corrected_t_test([0.90, 0.88, 0.91, 0.87], [0.80, 0.81, 0.83, 0.79]) < 0.01
        True
    """
    from scipy.stats import t as student

    if len(a) != len(b) or len(a) < 2:
        raise ConfigurationError(f"{len(a)} and {len(b)} figures: a test needs the same splits of both, at least two")
    d = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    deviation = math.sqrt((1 / len(d) + ratio) * d.var(ddof=1))
    if deviation == 0:
        return 1.0 if d[0] == 0 else 0.0
    return float(2 * student.sf(abs(d.mean()) / deviation, len(d) - 1))

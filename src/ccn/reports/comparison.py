"""Runs beside each other, on the rows that all of them have predicted.

The data that flow: runs -> their common rows, the same number, molecule and targets -> the metrics of each run on these
-> for every further run the difference of each metric from the first, with the interval of a paired bootstrap, and of
the losses of the rows, with the p-value of a permutation test that exchanges the two predictions of a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ccn.errors import ConfigurationError
from ccn.learning.metrics import LABELS, SMALLER, metrics, names
from ccn.learning.resampling import Difference, differences, intervals, row_losses
from ccn.learning.task import Floats
from ccn.reports.figures import COLOURS, MUTED, Picture
from ccn.reports.page import Block, Fact, Section, paragraph, table, tiles
from ccn.reports.run import Run
from ccn.reports.sections.data import molecule
from ccn.reports.summary import figure

__all__ = ["common_rows", "compare", "permutation_test"]

_SHOWN = 8  # molecules
_PERMUTATIONS = 10_000


def common_rows(runs: Sequence[Run]) -> list[Run]:
    """The runs with the rows that all of them have predicted, in the order of the first."""
    first = runs[0]
    for run in runs[1:]:
        what = [(r.task.kind, r.task.targets, tuple(map(str, r.task.classes))) for r in (first, run)]
        if what[0] != what[1]:
            raise ConfigurationError(
                f"{run.folder}: its task is {what[1][0]} of {', '.join(what[1][1])}, that of {first.folder} is "
                f"{what[0][0]} of {', '.join(what[0][1])}; compare runs of one task"
            )
    places = [{_key(run, i): i for i in range(len(run.rows))} for run in runs]
    kept = [key for key in places[0] if all(key in of for of in places[1:])]
    if not kept:
        raise ConfigurationError(
            f"{' and '.join(str(r.folder) for r in runs)}: no row was predicted by all of them; train them on the same "
            f"data with the same split, for example with --splits-file {first.folder / 'splits.json'}"
        )
    return [_only(run, [of[key] for key in kept]) for run, of in zip(runs, places, strict=True)]


def _key(run: Run, i: int) -> tuple[Any, ...]:
    """What makes a row the same in two runs."""
    known = tuple(None if np.isnan(y) else round(float(y), 9) for y in run.known[i])
    return run.rows[i], run.smiles[i] if run.smiles else "", known


def _only(run: Run, rows: Sequence[int]) -> Run:
    def some(column: Sequence[Any]) -> list[Any]:
        return [column[i] for i in rows] if len(column) else []

    low, high = (None if end is None else end[rows] for end in (run.low, run.high))
    texts: dict[str, Any] = {"rows": some(run.rows), "names": some(run.names), "smiles": some(run.smiles)}
    return replace(run, **texts, known=run.known[rows], predicted=run.predicted[rows], low=low, high=high)


def permutation_test(a: Floats, b: Floats, permutations: int = _PERMUTATIONS, seed: int = 0) -> float:
    """The two-sided p-value of the mean difference of paired values, by exchanging the values of pairs at random.

    Example:
        >>> a = np.arange(20.0)
        >>> permutation_test(a, a), permutation_test(a, a + 1) < 0.001
        (1.0, True)
    """
    d = b - a
    rng, most = np.random.default_rng(seed), abs(d.sum()) - 1e-12 * np.abs(d).sum()
    count, step = 0, max(1, 2_000_000 // max(1, len(d)))
    for first in range(0, permutations, step):
        signs = rng.integers(2, size=(min(step, permutations - first), len(d))) * 2 - 1
        count += int((np.abs(signs @ d) >= most).sum())
    return (1 + count) / (1 + permutations)


def compare(runs: Sequence[Run]) -> tuple[str, list[Fact], list[Section]]:
    """Title, facts and sections of a page that compares runs; they are called by their folders."""
    runs = common_rows(runs)
    called = _called(runs)
    first = runs[0]
    losses = [row_losses(r.task, r.known, r.predicted) for r in runs]
    shown = names(first.task)
    head = ["run", "method", "seconds", *(LABELS.get(n, n) for n in shown)]
    rows = []
    for run, name in zip(runs, called, strict=True):
        value, sure = metrics(run.task, run.known, run.predicted), intervals(run.task, run.known, run.predicted)
        cells = [f"{figure(value[n])} ({figure(sure[n].low)} to {figure(sure[n].high)})" for n in shown]
        rows.append([name, run.config["method"], f"{run.metrics['seconds']:.0f}", *cells])
    said = (
        f"{len(first.rows):,} rows that all runs have predicted, with the same targets; in brackets 95 % intervals of "
        "a bootstrap. They overlap more than differences do: see below for these."
    )
    blocks: list[Block] = [paragraph(said), table(head, rows, left=2)]
    different: list[Block] = []
    for run, name, loss in zip(runs[1:], called[1:], losses[1:], strict=True):
        found = differences(first.task, first.known, first.predicted, run.predicted)
        p = permutation_test(losses[0], loss)
        different += [paragraph(_sentence(called[0], name, found[shown[0]], shown[0], p)), _differences(first, found)]
        different.append(_scatter(called[0], name, losses[0], loss, first))
    facts = [Fact(f"{len(first.rows):,}", "common rows"), Fact(str(len(runs)), "runs")]
    sections = [Section("Metrics on the same rows", blocks), Section("Differences", different)]
    if first.smiles and len(runs) > 1:
        sections.append(_molecules(runs, called, losses))
    return f"{', '.join(called)} compared", facts, sections


def _called(runs: Sequence[Run]) -> list[str]:
    """Names of the runs: their folders, with what is above them where they are called alike."""
    short = [run.folder.resolve().name for run in runs]
    if len(set(short)) == len(short):
        return short
    return [str(Path(*run.folder.resolve().parts[-2:])) for run in runs]


def _sentence(first: str, second: str, found: Difference, name: str, p: float) -> str:
    label, d = LABELS.get(name, name), found.interval
    better = (found.value < 0) == (name in SMALLER)
    sure = not (d.low <= 0 <= d.high)
    verdict = (
        f"{second} is {'better' if better else 'worse'} than {first}"
        if sure
        else "neither is better by more than chance"
    )
    return (
        f"{second} and {first}: {verdict}. The difference in {label} is {found.value:+.3g} (95 %: {d.low:+.3g} to "
        f"{d.high:+.3g}); a permutation test of the losses of the rows gives p = {p:.2g}."
    )


def _differences(run: Run, found: dict[str, Difference]) -> Any:
    rows = []
    for name, d in found.items():
        label, _, target = name.partition("[")
        called = LABELS.get(label, label) + (f", {target[:-1]}" if target else "")
        rows.append([called, f"{d.value:+.3g}", f"{d.interval.low:+.3g} to {d.interval.high:+.3g}", f"{d.p:.2g}"])
    return table(["second minus first", "difference", "95 % interval", "p"], rows)


def _scatter(first: str, second: str, a: Floats, b: Floats, run: Run) -> Picture:
    def draw(figure: Any) -> None:
        axes = figure.add_subplot()
        most = 1.05 * float(max(a.max(), b.max(), 1e-9))
        axes.plot([0, most], [0, most], color=MUTED, lw=1)
        axes.scatter(a, b, s=9, alpha=0.5, color=COLOURS[0], linewidths=0, rasterized=len(a) > 1500)
        what = "absolute error" if run.task.kind == "regression" else "log loss"
        axes.set(xlabel=f"{what}, {first}", ylabel=f"{what}, {second}", xlim=(0, most), ylim=(0, most), aspect="equal")

    title, caption = f"losses of {first} and {second}", f"A row each; below the line {second} is better."
    return Picture(f"losses-{first}-{second}".replace("/", "-"), title, draw, (4.4, 4.2), caption)


def _molecules(runs: Sequence[Run], called: Sequence[str], losses: Sequence[Floats]) -> Section:
    """The molecules on which the runs differ most."""
    apart = np.ptp(np.stack(losses), axis=0)
    made = []
    for i in np.argsort(-apart, kind="stable")[:_SHOWN].tolist():
        lines = [runs[0].title(i)]
        lines += [f"{name}: loss {figure(float(loss[i]))}" for name, loss in zip(called, losses, strict=True)]
        if runs[0].task.kind == "regression" and len(runs[0].task.targets) == 1:
            lines[1:] = [f"measured {figure(runs[0].known[i, 0])}"]
            lines += [f"{name}: {figure(r.predicted[i, 0])}" for name, r in zip(called, runs, strict=True)]
        made.append((molecule(runs[0].smiles[i]), lines))
    return Section("Where they differ most", [tiles(made)])

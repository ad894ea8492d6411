"""Metrics with their uncertainty, the members beside each other, and learning curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from ccn.learning.metrics import LABELS, names
from ccn.reports.figures import COLOURS, MUTED, Picture
from ccn.reports.page import Block, Section, details, paragraph, table
from ccn.reports.run import Run
from ccn.reports.summary import crossed_rows, figure, leaderboard_rows, metrics_rows

__all__ = ["curves", "leaderboard", "measured", "with_interval"]

_MEMBERS = {
    "gp": "a Gaussian process on parts of molecules and descriptors",
    "trees": "boosted trees on counts of parts and descriptors",
    "ccn": "covariant networks",
}


def with_interval(run: Run, name: str) -> str:
    """A metric of the predicted rows with its interval."""
    value, sure = run.tested.get(name), run.intervals.get(name)
    if value is None or sure is None or not np.isfinite([sure.low, sure.high]).all():
        return figure(value)
    return f"{figure(value)} ({figure(sure.low)} to {figure(sure.high)})"


def measured(run: Run) -> Section:
    """The metrics of the predicted rows with bootstrap intervals, those of all parts, and warnings."""
    found = run.metrics
    blocks: list[Block] = [Markup('<p class="warning">Warning: {}.</p>').format(line) for line in found["warnings"]]
    if len(run.rows):
        blocks.append(
            paragraph(
                f"On {len(run.rows):,} {run.part}, which no choice was made on; in brackets 95 % intervals of a "
                "bootstrap over these rows (1,000 resamples)."
            )
        )
        metrics = names(run.task)
        head = ["", *(LABELS.get(n, n) for n in metrics)]
        rows = [["mean of all targets" if len(run.task.targets) > 1 else run.label(0)]]
        rows[0] += [with_interval(run, n) if n in run.shared else "" for n in metrics]
        if len(run.task.targets) > 1:
            for t, target in enumerate(run.task.targets):
                rows.append([run.label(t), *(with_interval(run, f"{n}[{target}]") for n in metrics)])
        blocks.append(table(head, rows))
    else:
        blocks.append(paragraph("There is no test part, so that nothing was measured on it."))
    if crossed := found.get("cross_validation"):
        blocks.append(table(*_of_all(run, crossed_rows(crossed))))
    shown = metrics_rows(found["metrics"], found["overlap"])
    if shown[1] and len(shown[0]) > 1:
        blocks += [paragraph(chosen_on(run)), table(*_of_all(run, shown))]
    interval = found.get("interval") or {}
    if "reason" in interval:
        blocks.append(paragraph(f"No intervals: {interval['reason']}."))
    elif interval:
        widths = [figure(w) for w in interval["mean_width"].values()]
        one = len(widths) == 1
        mean = f"; their mean width is {widths[0]} {run.unit(0)}".rstrip() if one else ""
        blocks.append(
            paragraph(
                f"{100 * interval['level']:.0f} % intervals covered {100 * interval['coverage']:.1f} % of the targets "
                f"of {interval['rows']:,} test rows{mean}."
            )
        )
        if not one:
            rows = [[run.label(t), width] for t, width in enumerate(widths)]
            blocks.append(details("Their width for each target", table(["target", "mean width"], rows)))
    return Section("Metrics", blocks)


def _of_all(run: Run, shown: tuple[list[str], list[list[str]]]) -> tuple[list[str], list[list[str]]]:
    """A table of metrics without those of single targets, and without means over units that differ."""
    kept = {LABELS.get(name, name) for name in run.shared}
    return shown[0], [row for row in shown[1] if row[0] in kept]


def chosen_on(run: Run) -> str:
    """Which rows the choices were made on."""
    if not run.about.get("leaderboard"):
        return "Choices were made on the validation part; the metrics of all parts:"
    return (
        "Members were chosen and weighed by folds of all rows but those of the test part, each predicted by models "
        "that were not fitted on it; the column 'validation' has these predictions:"
    )


def leaderboard(run: Run) -> Section | None:
    """The members of a stack and the baseline."""
    board: Sequence[Mapping[str, Any]] = run.about.get("leaderboard") or ()
    if not board:
        return None
    known = [f"{name} is {what}" for name, what in _MEMBERS.items() if any(row["method"] == name for row in board)]
    said = (
        "Every method on rows that it was not fitted on (validation folds). The stack weighs its members"
        f"{': ' * bool(known)}{', '.join(known)}. The baselines are a linear model of descriptors, or of "
        "the kinds of parts where there are none, and a constant. "
        "Seconds are of processor time."
    )
    blocks: list[Block] = [paragraph(said), table(*leaderboard_rows(board))]
    name = names(run.task)[1] if run.task.kind != "regression" else "mae"
    values = [row["metrics"].get(name) for row in board]
    there = [(row["method"], v) for row, v in zip(board, values, strict=True) if v is not None and np.isfinite(v)]
    if len(there) > 1:
        blocks.append(_bars(there, LABELS.get(name, name)))
    return Section("Members and baselines", blocks)


def _bars(values: Sequence[tuple[str, float]], label: str) -> Picture:
    def draw(figure: Any) -> None:
        axes = figure.add_subplot()
        places = np.arange(len(values))[::-1]
        colours = [COLOURS[0] if name == "stack" else MUTED for name, _ in values]
        axes.barh(places, [v for _, v in values], color=colours, height=0.65)
        for place, (_, v) in zip(places, values, strict=True):
            axes.annotate(f"{v:.4g}", (v, place), (4, 0), textcoords="offset points", va="center", fontsize=8)
        axes.set_yticks(places, [name for name, _ in values])
        axes.margins(x=0.15)
        axes.grid(visible=False, axis="y")
        axes.set(xlabel=label)

    return Picture("leaderboard", f"{label} of the members", draw, (5.2, 0.9 + 0.32 * len(values)))


def curves(run: Run) -> Section | None:
    """The losses of all networks by epoch."""
    if not run.history or "epoch" not in run.history[0]:
        return None
    members: dict[str, list[Mapping[str, str]]] = {}
    for row in run.history:
        members.setdefault(row.get("member", "0"), []).append(row)
    keys = [key for key in ("train_loss", "validation_loss") if any(row.get(key) for row in run.history)]
    if not keys:
        return None
    kept = [m.get("best_epoch") for m in run.metrics["members"]]

    def draw(figure: Any) -> None:
        axes = figure.add_subplot()
        for place, rows in enumerate(members.values()):
            for key, colour in zip(keys, COLOURS, strict=False):
                points = [(int(row["epoch"]), float(row[key])) for row in rows if row.get(key)]
                label = key.removesuffix("_loss") if not place else None
                axes.plot(*zip(*points, strict=True), color=colour, lw=1.3, label=label) if points else None
        low, high = axes.get_ylim()
        narrow = high < 10 * low  # so that no power of ten may be in between
        for epoch in dict.fromkeys(e for e in kept if e):
            axes.axvline(epoch, color=MUTED, lw=0.8, ls=":")
        axes.set(xlabel="epoch", ylabel="loss", yscale="log")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(lambda x, _: f"{x:.2g}" if narrow else "")
        figure.legend(loc="outside lower center", ncols=2)

    many = f" of {len(members)} networks" if len(members) > 1 else ""
    caption = f"Loss{many} by epoch, on a logarithmic scale{'; dotted: the epoch that was kept' if any(kept) else ''}."
    return Section("Learning curves", [Picture("losses", "losses by epoch", draw, (5.2, 3.6), caption)])

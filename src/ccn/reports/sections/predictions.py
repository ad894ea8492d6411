"""Predictions beside what was measured: parity or ROC, the worst rows, and how errors grow with the distance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from ccn.errors import CCNError
from ccn.explain import Explanation, explain
from ccn.explain.drawing import equation, picture
from ccn.explain.place import Place, interval_text, places
from ccn.learning.resampling import row_losses
from ccn.learning.task import Floats
from ccn.reports.figures import COLOURS, MUTED, Picture, slug, wrapped
from ccn.reports.page import Block, Section, details, paragraph, table, tiles
from ccn.reports.run import Run
from ccn.reports.sections.data import molecule
from ccn.reports.summary import figure
from ccn.reports.trust import bands_rows, reliability_text, trust_pictures, trust_text, words_rows

__all__ = ["distances", "predictions", "worst"]

_MOST_TARGETS, _MOST_CURVES = 12, 12
_FEW = 300  # points that are drawn larger
_RASTER = 1500  # points from which a scatter is an image
_WORST = 10


def predictions(run: Run) -> Section | None:
    """Parity of numbers; ROC, precision and recall, calibration and confusion of classes."""
    if not len(run.rows):
        return None
    if run.task.kind == "regression":
        shown = range(min(_MOST_TARGETS, len(run.task.targets)))
        blocks: list[Block] = [[_parity(run, t) for t in shown if (~np.isnan(run.known[:, t])).any()]]
        if (more := len(run.task.targets) - len(shown)) > 0:
            blocks.append(paragraph(f"{more} more targets are not drawn; predictions.csv has all of them."))
        return Section("Predicted and measured", blocks)
    curves = _curves(run)
    pictures = [_roc(curves), _precision(curves), _calibration(curves)] if curves else []
    if run.task.kind == "multilabel":
        blocks = [pictures, paragraph("Right and wrong at a probability of one half:"), _counts(run)]
    else:
        blocks = [[*pictures, _confusion(run)]]
    if (more := len(run.task.targets) - _MOST_CURVES) > 0:
        blocks.append(paragraph(f"{more} more targets are not drawn."))
    return Section("Predicted and true classes", blocks)


def _parity(run: Run, t: int) -> Picture:
    there = ~np.isnan(run.known[:, t])
    y, p = run.known[there, t], run.predicted[there, t]
    name = run.label(t)

    def draw(figure: Any) -> None:
        axes = figure.add_subplot()
        both = np.concatenate([y, p])
        low, high = both.min(), both.max()
        pad = 0.04 * (high - low or 1.0)
        ends = [low - pad, high + pad]
        axes.plot(ends, ends, color=MUTED, lw=1, zorder=1)
        axes.scatter(y, p, s=9 if len(y) > _FEW else 20, alpha=0.55, color=COLOURS[0], linewidths=0, zorder=2,
                     rasterized=len(y) > _RASTER)  # fmt: skip
        axes.set(xlim=ends, ylim=ends, aspect="equal")
        axes.set(xlabel=wrapped(f"measured {name}", 46), ylabel=wrapped(f"predicted {name}", 40))

    error = f"MAE {figure(float(np.abs(y - p).mean()))}"
    unit = f" {run.unit(t)}" if run.unit(t) else ""
    caption = f"{len(y):,} {run.part}; {error}{unit}."
    return Picture(f"parity-{t + 1}-{slug(name)}", f"predicted against measured {name}", draw, (4.4, 4.2), caption)


Curve = tuple[str, Floats, Floats]


def _curves(run: Run) -> list[Curve]:
    """For each label, or each class against the rest, its name, whether it is true, and its probability."""
    made: list[Curve] = []
    if run.task.kind == "multilabel":
        for t, name in enumerate(run.task.targets):
            there = ~np.isnan(run.known[:, t])
            made.append((name, run.known[there, t], run.predicted[there, t]))
    else:
        there = ~np.isnan(run.known[:, 0])
        number, p = run.known[there, 0].astype(int), run.predicted[there]
        columns = [1] if p.shape[1] == 2 else range(p.shape[1])
        made = [(str(run.task.classes[c]), (number == c).astype(float), p[:, c]) for c in columns]
    return [c for c in made if 0 < c[1].sum() < len(c[1])][:_MOST_CURVES]


def _styled(curves: Sequence[Curve]) -> Iterator[tuple[str, Floats, Floats, str, str]]:
    """Each curve with its colour and dashes."""
    for i, curve in enumerate(curves):
        yield *curve, COLOURS[i % len(COLOURS)], ("-", "--")[i // len(COLOURS) % 2]


def _legend(figure: Any, axes: Any, count: int) -> None:
    if count > 1 or axes.get_legend_handles_labels()[1]:
        figure.legend(loc="outside lower center", ncols=1 if count < 3 else 2)


def _height(curves: Sequence[Curve]) -> float:
    lines = sum(wrapped(name, 24).count("\n") + 1 for name, *_ in curves)
    return 3.9 + 0.17 * (lines if len(curves) < 3 else -(-lines // 2))


def _roc(curves: Sequence[Curve]) -> Picture:
    def draw(figure: Any) -> None:
        from sklearn.metrics import roc_auc_score, roc_curve

        axes = figure.add_subplot()
        axes.plot([0, 1], [0, 1], color=MUTED, lw=1)
        for name, y, p, colour, dash in _styled(curves):
            fpr, tpr, _ = roc_curve(y, p)
            label = f"{wrapped(name, 24)}: {roc_auc_score(y, p):.3f}"
            axes.plot(fpr, tpr, color=colour, ls=dash, lw=1.4, label=label)
        axes.set(xlabel="false positive rate", ylabel="true positive rate", aspect="equal", title="ROC, with its area")
        _legend(figure, axes, len(curves))

    return Picture("roc", "ROC curves", draw, (4.4, _height(curves)))


def _precision(curves: Sequence[Curve]) -> Picture:
    def draw(figure: Any) -> None:
        from sklearn.metrics import average_precision_score, precision_recall_curve

        axes = figure.add_subplot()
        for name, y, p, colour, dash in _styled(curves):
            precision, recall, _ = precision_recall_curve(y, p)
            label = f"{wrapped(name, 24)}: {average_precision_score(y, p):.3f}"
            axes.step(recall, precision, where="post", color=colour, ls=dash, lw=1.4, label=label)
            if len(curves) == 1:
                axes.axhline(y.mean(), color=MUTED, lw=1, label=f"share of positives: {y.mean():.3f}")
        axes.set(xlabel="recall", ylabel="precision", ylim=(0, 1.02), title="precision and recall, with the area")
        _legend(figure, axes, len(curves))

    return Picture("precision-recall", "precision and recall", draw, (4.4, _height(curves)))


def _calibration(curves: Sequence[Curve]) -> Picture:
    def draw(figure: Any) -> None:
        axes = figure.add_subplot()
        axes.plot([0, 1], [0, 1], color=MUTED, lw=1)
        for name, y, p, colour, dash in _styled(curves):
            count = max(2, min(10, len(y) // 10))
            groups = [g for g in np.array_split(np.argsort(p, kind="stable"), count) if len(g)]
            said, true = (np.array([v[g].mean() for g in groups]) for v in (p, y))
            size = np.array([len(g) for g in groups])
            error = 1.96 * np.sqrt(np.clip(true * (1 - true), 0.25 / size, None) / size)
            if len(curves) == 1:
                axes.errorbar(said, true, error, color=colour, fmt="o-", ms=4, lw=1.2, elinewidth=0.8, label=name)
            else:
                axes.plot(said, true, color=colour, ls=dash, lw=1.2, marker="o", ms=3, label=wrapped(name, 24))
        axes.set(xlabel="predicted probability", ylabel="share that is true", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        axes.set(aspect="equal", title="calibration")
        _legend(figure, axes, len(curves))

    caption = "Rows in groups of equal size by predicted probability; bars are 95 %." if len(curves) == 1 else ""
    return Picture("calibration", "calibration", draw, (4.4, _height(curves)), caption)


def _confusion(run: Run) -> Picture:
    there = ~np.isnan(run.known[:, 0])
    number, guess = run.known[there, 0].astype(int), run.predicted[there].argmax(axis=1)
    names = [str(c) for c in run.task.classes]

    def draw(figure: Any) -> None:
        from matplotlib.colors import LinearSegmentedColormap
        from sklearn.metrics import confusion_matrix

        count = confusion_matrix(number, guess, labels=range(len(names)))
        share = count / np.maximum(count.sum(axis=1, keepdims=True), 1)
        axes = figure.add_subplot()
        shades = LinearSegmentedColormap.from_list("blue", ["#eef3f8", COLOURS[0]])
        axes.pcolormesh(share, cmap=shades, vmin=0, vmax=1)
        if len(names) <= 12:
            for (i, j), k in np.ndenumerate(count):
                colour = "#ffffff" if share[i, j] > 0.55 else "#1b1f23"
                axes.text(j + 0.5, i + 0.5, f"{k:,}\n{100 * share[i, j]:.0f} %", ha="center", va="center", color=colour)
        places, shown = np.arange(len(names)) + 0.5, [wrapped(c, 16) for c in names]
        turned = {"rotation": 90} if len(names) > 4 else {}
        axes.set_xticks(places, shown, **turned)
        axes.set_yticks(places, shown)
        axes.invert_yaxis()
        axes.grid(visible=False)
        axes.set(xlabel="predicted", ylabel="true", title="confusion", aspect="equal")

    size = max(3.6, min(8.0, 1.8 + 0.6 * len(names)))
    return Picture("confusion", "confusion", draw, (max(4.4, size), size), "Rows of the class, and their share of it.")


def _counts(run: Run) -> Markup:
    rows = []
    for t in range(len(run.task.targets)):
        there = ~np.isnan(run.known[:, t])
        true, said = run.known[there, t] > 0.5, run.predicted[there, t] > 0.5
        counts = [(true & said).sum(), (~true & said).sum(), (true & ~said).sum(), (~true & ~said).sum()]
        rows.append([run.label(t), *(f"{int(k):,}" for k in counts)])
    return table(["", "true positives", "false positives", "false negatives", "true negatives"], rows)


def worst(run: Run) -> Section | None:
    """The ten rows with the largest errors, drawn, with the training molecule most like each."""
    if not run.smiles or not len(run.rows):
        return None
    order = np.argsort(-row_losses(run.task, run.known, run.predicted), kind="stable")[:_WORST].tolist()
    explained, placed = _explained(run, order), _places(run, order)
    made = [
        (Markup(picture(explained[i], 260, 190)), [*_told(run, i, placed.get(i)), equation(explained[i])])
        if i in explained
        else (molecule(run.smiles[i]), _told(run, i, placed.get(i)))
        for i in order
    ]
    several = ", as means over the targets, each in its standard deviation" * (len(run.task.targets) > 1)
    what = "absolute errors" if run.task.kind == "regression" else "errors (the least probability of the true class)"
    said = f"The {run.part} with the largest {what}{several}; a wrong value of the data is often among them."
    if explained:
        one = next(iter(explained.values()))
        what = one.target if len(run.task.targets) == 1 else "the target that is named"
        scales = {e.scale for e in explained.values()}
        scale = one.scale if len(scales) == 1 else "on the scale on which each target was fitted"
        said += (
            f" Orange atoms and bonds raise the prediction of {what}, blue ones lower it, each drawing on its own "
            "scale; the last line says how baseline, atoms, bonds and features of the whole molecule add up "
            f"({scale})."
        )
    return Section("The worst ten", [paragraph(said), tiles(made)])


def _explained(run: Run, rows: Sequence[int]) -> dict[int, Explanation]:
    """Explanations of some rows, each of the target with the largest error; none where the method has none."""
    made: dict[int, Explanation] = {}
    target = {i: run.task.targets[_worst_target(run, i)] for i in rows}
    try:
        for name in dict.fromkeys(target.values()):
            some = [i for i in rows if target[i] == name]
            found = explain(run.model, [run.smiles[i] for i in some], target=name)
            made.update(zip(some, found, strict=True))
    except CCNError:  # the method has no contributions, or reads columns beside the molecule
        return {}
    return made


def _places(run: Run, rows: Sequence[int]) -> dict[int, Place]:
    """Whether the model has seen anything like some rows; nothing where it cannot compare."""
    made: dict[int, Place] = {}
    try:
        for t in dict.fromkeys(_worst_target(run, i) for i in rows):
            some = [i for i in rows if _worst_target(run, i) == t]
            texts = [run.smiles[i] for i in some]
            found = places(run.model, run.model.inputs.read(texts), texts, t, interval=False)
            made.update(zip(some, found, strict=bool(found)))
    except CCNError:  # it reads columns beside the molecule, or the training rows were altered
        return {}
    return made


def _told(run: Run, i: int, place: Place | None) -> list[str]:
    """A row's name, what was measured and predicted, and whether the model has seen anything like it."""
    lines, t = [run.title(i)], _worst_target(run, i)
    name = f"{run.task.targets[t]}: " if len(run.task.targets) > 1 else ""
    if run.task.kind == "regression":
        unit = f" {run.unit(t)}" if run.unit(t) else ""
        lines.append(f"{name}measured {figure(run.known[i, t])}, predicted {figure(run.predicted[i, t])}{unit}")
        if run.low is not None and run.high is not None and np.isfinite(run.high[i, t] - run.low[i, t]):
            lines.append(interval_text(run.low[i, t], run.high[i, t]))
    else:
        true = int(run.known[i, t])
        p = run.predicted[i, t] if run.task.kind == "multilabel" else run.predicted[i, true]
        p = 1 - p if run.task.kind == "multilabel" and not true else p
        lines.append(f"{name}true {run.task.classes[true]}, its probability {100 * p:.0f} %")
    if place is not None:
        lines += place.lines()
    elif run.rows[i] in run.nearest:
        similarity, near = run.nearest[run.rows[i]]
        value = near["values"][t]
        shown = "unknown" if value is None else figure(value) if isinstance(value, float) else str(value)
        lines.append(f"nearest training molecule: similarity {similarity:.2f}, measured {shown}")
    return lines


def _worst_target(run: Run, i: int) -> int:
    """The target of a row with the largest error, in standard deviations of each."""
    if run.task.kind in ("binary", "multiclass"):
        return 0
    there = np.flatnonzero(~np.isnan(run.known[i]))
    error = np.abs(run.known[i, there] - run.predicted[i, there])
    if run.task.kind == "regression":
        scale = np.nanstd(run.known[:, there], axis=0)
        error = error / np.where(scale > 0, scale, 1.0)
    return int(there[error.argmax()])


def distances(run: Run) -> Section | None:
    """How far errors and the coverage of intervals depend on the distance from training, by word and by band."""
    trust = run.metrics.get("trust")
    if not trust or not trust.get("parts"):
        return None
    said = (
        "The distance of a molecule to the nearest of training is one less the share of parts that both have "
        "(covariant kernel, levels 0 to 2). It is inside where errors are as usual, outside where they are half as "
        "large again or the distance is rare, and at the edge between; the limits are chosen on held-out rows."
    )
    blocks: list[Block] = [paragraph(said), paragraph(trust_text(trust)), table(*words_rows(trust), left=2)]
    blocks += [trust_pictures(trust), details("By bands of distance", table(*bands_rows(trust)))]
    found = trust["parts"].get("test") or next(iter(trust["parts"].values()))
    if found.get("reliability"):
        blocks.append(paragraph(reliability_text(found["reliability"])))
    return Section("Applicability domain", blocks)

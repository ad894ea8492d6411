"""The report of a training run, in Markdown: what was learned from what, how well, and how to use it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ccn.datasets import Dataset
    from ccn.learning.model import Model
    from ccn.runs.config import Config

__all__ = ["figure", "metrics_rows", "report"]

_NAMES = {"mae": "MAE", "rmse": "RMSE", "r2": "R2", "accuracy": "accuracy", "roc_auc": "ROC-AUC", "pr_auc": "PR-AUC"}
_ENDS = {"epochs": "all", "patience": "then no more progress", "time limit": "then the time was up"}


def figure(value: float | None) -> str:
    """A figure as it is shown; a dash where it is not defined."""
    return "-" if value is None or not math.isfinite(value) else f"{value:.4g}"


def metrics_rows(found: Mapping[str, Mapping[str, float]]) -> tuple[list[str], list[list[str]]]:
    """A table of metrics: its head, and one row per metric with a column for each part."""
    parts = [part for part in found if part != "calibration"]  # which is for the intervals alone
    names = list(next(iter(found.values()), {}))
    label = {n: _NAMES.get(n, "MCC" if n == "mcc" else n) for n in names}
    return ["", *parts], [[label[n], *(figure(found[p].get(n)) for p in parts)] for n in names]


def _markdown(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def report(
    folder: Path, model: Model, data: Dataset, found: Mapping[str, Any], config: Config, drawn: bool = False
) -> str:
    """The report; ``drawn`` if there is a picture, report.png."""
    sizes = ", ".join(f"{name} {count:,}" for name, count in found["graphs"].items() if count)
    units = dict(zip(data.target_names, data.units or [""] * len(data.target_names), strict=True))
    targets = ", ".join(f"{name} ({unit})" if unit else name for name, unit in units.items())
    lines = [
        f"# {targets} from {data.name}",
        "",
        f"Task: {found['task']}. Data: {data}.",
        "",
        f"Rows: {sizes}. The validation part was for choices; the test part was used once, for the figures below.",
        "",
        "## How good it is",
        "",
        _markdown(*metrics_rows(found["metrics"])),
        *(["", "![losses, and answers on the test part](report.png)"] if drawn else []),
    ]
    if held := found.get("interval"):
        width = ", ".join(f"{name} {figure(w)}" for name, w in held["mean_width"].items())
        lines += [
            "",
            (
                f"Intervals of {100 * held['level']:.0f} % held {100 * held['coverage']:.1f} % of the targets of "
                f"{held['rows']} test rows; their mean width: {width}."
            ),
        ]
    lines += [
        "",
        "## How it was made",
        "",
        (
            f"{_made(model, found, config)}; seed {config.seed}; {found['seconds']:.0f} s. "
            "All settings: config.toml. The same again: `ccn train --config config.toml --output another`."
        ),
        "",
        "## How to use it",
        "",
        "```",
        f"ccn predict {folder.name} new.csv -o predictions.csv" + (" --interval 0.9" if found.get("interval") else ""),
        f"ccn evaluate {folder.name} other.csv",
        f"ccn info {folder.name}",
        "```",
        "",
    ]
    return "\n".join(lines)


def _made(model: Model, found: Mapping[str, Any], config: Config) -> str:
    """The method, what it chose, and how the training of its networks ended."""
    chosen = {", ".join(f"{k} {v}" for k, v in one.items()) for one in model.about["chosen"] if one}
    said = f"Method {config.method}" + "".join(f"; chosen by validation: {c}" for c in sorted(chosen))
    if not found["members"]:
        return said
    n, t = config.recipe.network, config.recipe.training
    ended = ", ".join(
        f"{m['epochs']} epochs ({_ENDS[m['ended']]}), number {m['best_epoch']} kept" for m in found["members"]
    )
    return (
        f"{said}; recipe {config.recipe.name}: order {n.order}, {n.levels} levels, {n.channels} channels; {t.members} "
        f"member{'s' * (t.members > 1)}, {ended}"
    )

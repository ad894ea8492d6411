"""The report of a training run in Markdown: the data, the metrics, the settings, and how to use the model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ccn.reports.markup import markdown

if TYPE_CHECKING:
    from ccn.datasets import Dataset
    from ccn.learning.model import Model
    from ccn.runs.config import Config

__all__ = ["figure", "metrics_rows", "report"]

_NAMES = {"mae": "MAE", "rmse": "RMSE", "r2": "R2", "accuracy": "accuracy", "roc_auc": "ROC-AUC", "pr_auc": "PR-AUC"}
_ENDS = {"epochs": "all", "patience": "stopped early", "time limit": "stopped by the time limit"}


def figure(value: float | None) -> str:
    """A number with four significant digits; a dash where it is undefined."""
    return "-" if value is None or not math.isfinite(value) else f"{value:.4g}"


def metrics_rows(found: Mapping[str, Mapping[str, float]]) -> tuple[list[str], list[list[str]]]:
    """Head and rows of a table of metrics: one row per metric, one column per part."""
    parts = [part for part in found if part != "calibration"]  # used for the intervals only
    names = list(next(iter(found.values()), {}))
    label = {n: _NAMES.get(n, "MCC" if n == "mcc" else n) for n in names}
    return ["", *parts], [[label[n], *(figure(found[p].get(n)) for p in parts)] for n in names]


def report(
    folder: Path, model: Model, data: Dataset, found: Mapping[str, Any], config: Config, drawn: bool = False
) -> str:
    """The report; ``drawn`` says whether there is a picture, report.png."""
    sizes = ", ".join(f"{name} {count:,}" for name, count in found["graphs"].items() if count)
    units = dict(zip(data.target_names, data.units or [""] * len(data.target_names), strict=True))
    targets = ", ".join(f"{name} ({unit})" if unit else name for name, unit in units.items())
    parts = [
        f"# {targets} from {data.name}",
        f"Task: {found['task']}. Data: {data}.",
        f"Rows: {sizes}. Choices were made on the validation part; the test part was used once, for the metrics below.",
        "## Metrics",
        markdown(*metrics_rows(found["metrics"])),
    ]
    if drawn:
        parts.append("![losses, and predictions on the test part](report.png)")
    interval = found.get("interval")
    if interval:
        width = ", ".join(f"{name} {figure(w)}" for name, w in interval["mean_width"].items())
        parts.append(
            f"{100 * interval['level']:.0f} % intervals covered {100 * interval['coverage']:.1f} % of the targets of "
            f"{interval['rows']} test rows; mean width: {width}."
        )
    predict = f"ccn predict {folder.name} new.csv -o predictions.csv" + " --interval 0.9" * bool(interval)
    parts += [
        "## Training",
        f"{_made(model, found, config)}; seed {config.seed}; {found['seconds']:.0f} s.",
        "All settings: config.toml. To repeat the run: `ccn train --config config.toml --output another`.",
        "## Usage",
        f"```\n{predict}\nccn evaluate {folder.name} other.csv\nccn info {folder.name}\n```",
    ]
    return "\n\n".join(parts) + "\n"


def _made(model: Model, found: Mapping[str, Any], config: Config) -> str:
    """The method, what it chose, and how the training of its networks ended."""
    chosen = {", ".join(f"{k} {v}" for k, v in one.items()) for one in model.about["chosen"] if one}
    said = f"Method {config.method}" + "".join(f"; chosen by validation: {c}" for c in sorted(chosen))
    if not found["members"]:
        return said
    n, t = config.recipe.network, config.recipe.training
    ended = ", ".join(
        f"{m['epochs']} epochs ({_ENDS[m['ended']]}), epoch {m['best_epoch']} kept" for m in found["members"]
    )
    return (
        f"{said}; recipe {config.recipe.name}: order {n.order}, {n.levels} levels, {n.channels} channels; {t.members} "
        f"member{'s' * (t.members > 1)}, {ended}"
    )

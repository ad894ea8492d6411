"""``ccn info``: the description in a model file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ccn.cli.options import Json, ModelPath

__all__ = ["info"]


def info(model: ModelPath, /, *, json: Json = False) -> None:
    """Show what a model predicts, from what, its metrics and how it was made.

    For example, `ccn info run`, or `ccn info model.safetensors --json`.
    """
    from ccn.cli.show import print_json, table
    from ccn.learning.model_file import describe
    from ccn.reports.summary import metrics_rows

    found = describe(model)
    if json:
        print_json(found)
        return
    task, inputs, about = found["task"], found["inputs"], found["about"]
    features = "graphs" if inputs["molecules"] is None else f"molecules, with the features {inputs['molecules']!r}"
    kind = inputs["vertices"]["kind"]
    rows = {
        "predicts": f"{', '.join(task['targets'])} ({task['kind']})",
        "classes": ", ".join(map(str, task["classes"])),
        "reads": features + " and hydrogens" * inputs["hydrogens"] + f", as {kind}" * (kind != "given"),
        "SMILES column": about.get("smiles_column") or "",
        "method": found["method"],
        "chosen": ", ".join(dict.fromkeys(f"{k} {v}" for one in about.get("chosen", ()) for k, v in one.items())),
        **_network(found),
        "intervals": "" if found["calibration"] is None else f"from {len(found['calibration']['scores'][0])} rows",
        "trained on": f"{about.get('data', '?')}; rows: "
        + ", ".join(f"{name} {count:,}" for name, count in about.get("graphs", {}).items() if count),
        "fingerprint of the data": about.get("fingerprint", "")[:16],
        "seed": str(about.get("seed", "")),
        "made by": f"ccn {found['ccn']}",
    }
    table(str(model), ["", ""], [[k, v] for k, v in rows.items() if v])
    if about.get("metrics"):
        table("Metrics", *metrics_rows(about["metrics"]))


def _network(found: Mapping[str, Any]) -> dict[str, str]:
    learned = found["learned"]
    rows = {"members": str(learned.get("members", "")), "recipe": (learned.get("recipe") or {}).get("name", "")}
    if "contractions" in (n := learned.get("options", {})):
        rows["network"] = (
            f"order {n['order']}, {n['levels']} levels, channels {n['channels']}, contractions {n['contractions']}"
        )
    return rows

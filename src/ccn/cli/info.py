"""``ccn info``: the description in a model file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from cyclopts import Parameter

from ccn.cli.options import Json, ModelPath
from ccn.errors import FileError

__all__ = ["info"]

Contractions = Annotated[bool, Parameter(help="Show which contractions the networks use.", negative="")]


def info(model: ModelPath, /, *, json: Json = False, contractions: Contractions = False) -> None:
    """Show what a model predicts, from what, its metrics and how it was made.

    For example, `ccn info run`, or `ccn info model.safetensors --json`. With `--contractions` also which contractions
    its networks use at each level: the share of each in the strength of all, in the mean over members. Train with
    `--contraction-penalty 0.001` to let those fade that are not needed.
    """
    from ccn.cli.show import print_json, table
    from ccn.learning.model_file import describe
    from ccn.reports.summary import metrics_rows

    found = describe(model)
    if json:
        print_json(found)
        return
    about = found["about"]
    try:
        rows, metrics = _rows(found), metrics_rows(about.get("metrics") or {}, about.get("overlap"))
    except Exception as error:  # whatever a forged description makes the formatting raise
        raise FileError(
            f"{model}: its description is damaged ({type(error).__name__}: {error}); take another copy"
        ) from None
    table(str(model), ["", ""], [[k, v] for k, v in rows.items() if v])
    if metrics[1]:
        table("Metrics", *metrics)
    if contractions:
        for title, rows_of in _shares(model):
            table(title, ["contraction", "share"], rows_of)


def _shares(model: ModelPath) -> list[tuple[str, list[list[str]]]]:
    """For each level of the networks of a model the contractions, strongest first, with their shares."""
    from ccn.learning.model_file import load
    from ccn.models import CCN

    nets = [net for net in getattr(load(model).fitted, "networks", ()) if isinstance(net, CCN)]
    if not nets:
        raise FileError(f"{model}: it has no covariant network of its own, and so no contractions")
    out = []
    for number, levels in enumerate(zip(*(net.contraction_shares() for net in nets), strict=True), start=1):
        mean = {name: sum(level[name] for level in levels) / len(levels) for name in levels[0]}
        ordered = sorted(mean.items(), key=lambda pair: -pair[1])
        title = f"Level {number}" if number <= len(nets[0].layers) else "Root"
        out.append((title, [[name, f"{100 * share:.1f} %"] for name, share in ordered]))
    return out


def _rows(found: Mapping[str, Any]) -> dict[str, str]:
    task, inputs, about = found["task"], found["inputs"], found["about"]
    features = "graphs" if inputs["molecules"] is None else f"molecules, with the features {inputs['molecules']!r}"
    features += f" and the columns {', '.join(inputs['columns'])}" if inputs.get("columns") else ""
    kind = inputs["vertices"]["kind"]
    return {
        "predicts": f"{', '.join(task['targets'])} ({task['kind']})",
        "classes": ", ".join(map(str, task["classes"])),
        "reads": features
        + " and hydrogens" * inputs["hydrogens"]
        + f", as {kind}" * (kind != "given")
        + (f", standardised ({inputs['standardise']})" if inputs.get("standardise") else ""),
        "SMILES column": str(about.get("smiles_column") or ""),
        "method": found["method"],
        "chosen": ", ".join(dict.fromkeys(f"{k} {v}" for one in about.get("chosen", ()) for k, v in one.items())),
        **_network(found),
        "intervals": "" if found["calibration"] is None else f"from {len(found['calibration']['scores'][0])} rows",
        "trained on": f"{about.get('data', '?')}; rows: "
        + ", ".join(f"{name} {count:,}" for name, count in about.get("graphs", {}).items() if count),
        "started from": str((about.get("from") or {}).get("sha256", ""))[:16],
        "fingerprint of the data": str(about.get("fingerprint", ""))[:16],
        "seed": str(about.get("seed", "")),
        "made by": f"ccn {found['ccn']}",
    }


def _network(found: Mapping[str, Any]) -> dict[str, str]:
    learned = found["learned"]
    members = learned.get("members", "")  # the number of networks, or the methods of a stack
    rows = {
        "members": ", ".join(str(m["method"]) for m in members) if isinstance(members, list) else str(members),
        "recipe": str((learned.get("recipe") or {}).get("name", "")),
    }
    if "contractions" in (n := learned.get("options", {})):
        rows["network"] = (
            f"order {n['order']}, {n['levels']} levels, channels {n['channels']}, contractions {n['contractions']}"
        )
    return rows

"""How the model was made, and how to make and use it again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ccn.reports.page import Block, Section, details, paragraph, table
from ccn.reports.run import Run

__all__ = ["how_made", "settings"]

_ENDS = {
    "epochs": "all",
    "patience": "stopped early",
    "time limit": "stopped by the time limit",
    "validation loss rose": "stopped, since the validation loss rose",
}


def settings(run: Run) -> Section:
    """The method, versions, commands and every setting."""
    folder = shlex.quote(run.folder.name)
    interval = " --interval 0.9" if "coverage" in (run.metrics.get("interval") or {}) else ""
    commands = (
        f"ccn train --config {folder}/config.toml --output again   # the same run\n"
        f"ccn predict {folder} new.csv -o predictions.csv{interval}\n"
        f"ccn evaluate {folder} other.csv\n"
        f"ccn report {folder}"
    )
    versions = ", ".join(f"{name} {version}" for name, version in (run.metrics.get("versions") or {}).items())
    blocks: list[Block] = [
        paragraph(f"{how_made(run)}; seed {run.config['seed']}; {run.metrics['seconds']:.0f} s."),
        Markup("<pre>{}</pre>").format(commands),
    ]
    if versions:
        blocks.append(paragraph(f"Made with {versions}."))
    # Without the folder of the data, which says more of the machine than readers need.
    rows = [[name, Path(value).name if name == "source" else value] for name, value in _flat(run.config)]
    blocks.append(details("All settings (config.toml)", table(["setting", "value"], rows, left=2)))
    return Section("Settings", blocks)


def _flat(config: Mapping[str, Any], before: str = "") -> list[tuple[str, str]]:
    out = []
    for name, value in config.items():
        if isinstance(value, Mapping):
            out += _flat(value, f"{before}{name}.")
        else:
            out.append((f"{before}{name}", ", ".join(map(str, value)) if isinstance(value, list) else str(value)))
    return out


def how_made(run: Run) -> str:
    """The method, what it chose, and how the training of its networks ended."""
    chosen = {", ".join(f"{k} {v}" for k, v in one.items()) for one in run.about["chosen"] if one}
    begun = run.about.get("from")
    said = f"Method {run.config['method']}" + (f", from the model {begun['sha256'][:16]}" if begun else "")
    said += "".join(f"; chosen by validation: {c}" for c in sorted(chosen))
    if members := run.metrics["members"]:
        network = run.config.get("network") or {}
        named = [f"{network[k]} {k}" if k != "order" else f"order {network[k]}" for k in _NETWORK if k in network]
        ended = ", ".join(f"{m['epochs']} epochs ({_ENDS[m['ended']]}), epoch {m['best_epoch']} kept" for m in members)
        many = f"{len(members)} member{'s' * (len(members) > 1)}"
        said += "; " + "; ".join([*([", ".join(named)] if named else []), f"{many}, {ended}"])
    shapes = () if run.task.scale is None or not run.task.scale.bends else run.task.scale.shapes
    scaled = ", ".join(f"{name} {shape}" for name, shape in zip(run.task.targets, shapes, strict=False))
    return said + (f"; fitted on the scale: {scaled}" if scaled else "")


_NETWORK = ("order", "levels", "channels")

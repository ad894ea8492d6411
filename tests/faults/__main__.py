"""Faults at every change on disk: ``python tests/faults --report results/reliability/faults.json``."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from trials import TRIALS, attempt, rendered

from ccn.files import cache_folder


def main() -> None:
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("--report", type=Path, help="write the counts there, as JSON")
    flags.add_argument("--page", type=Path, help="write them there too, as a table between its comments")
    only = "trials whose name has this (a regular expression); the report keeps the counts of the others"
    flags.add_argument("--only", default="", help=only)
    flags.add_argument("--every", type=int, default=1, help="each so many changes of a training or prediction")
    given = flags.parse_args()
    # Kernels are compiled once, not in every forked process: what becomes of their files is not tried.
    os.environ.setdefault("CCN_KERNELS", str(cache_folder()))
    # All that the forked processes need, before the first of them.
    for name in (
        *("filelock", "lightning_fabric", "matplotlib.figure", "lightgbm", "optuna", "pyarrow.parquet", "rdkit.Chem"),
        *("sklearn.metrics", "ccn.methods.stack", "ccn.runs.tune", "openpyxl", "torch.utils.tensorboard"),
        *("ccn.cli", "ccn.engine.cpu.form", "ccn.methods.network", "ccn.models", "ccn.runs.predict", "ccn.runs.train"),
    ):
        import_module(name)
    import torch

    torch.set_num_threads(1)
    found = []
    for trial in (t for t in TRIALS if re.search(given.only, t.name)):
        every = 1 if trial.name.startswith("model") else given.every
        with tempfile.TemporaryDirectory() as base:
            found.append(attempt(trial, Path(base).resolve(), print, every))
        print(json.dumps(found[-1]), flush=True)
    if given.only and given.report and given.report.exists():
        counts = {one["name"]: one for one in [*json.loads(given.report.read_text()), *found]}
        found = [counts[trial.name] for trial in TRIALS if trial.name in counts]
    if given.report:
        from ccn.files import write_json

        given.report.parent.mkdir(parents=True, exist_ok=True)
        write_json(given.report, found)
    if given.page:
        text = given.page.read_text(encoding="utf-8")
        made = re.sub(
            r"(?s)(?<=<!-- faults -->\n).*?(?=<!-- end of faults -->)", lambda _: rendered(found) + "\n", text
        )
        given.page.write_text(made, encoding="utf-8")
    sys.exit(any(one["broken"] for one in found))


main()

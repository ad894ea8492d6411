"""``ccn evaluate``: how good a model is on other data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ccn.cli.options import Flag

__all__ = ["evaluate"]


def evaluate(
    model: Path,
    source: str,
    /,
    *,
    target: Annotated[list[str] | None, Parameter(name=("--target", "--target-columns"), negative="")] = None,
    smiles_column: Annotated[str | None, Parameter(name=("--smiles-column", "--smiles-columns"))] = None,
    interval: float = 0.9,
    strict: Flag = False,
    threads: int | None = None,
    device: str = "cpu",
    quiet: Flag = False,
    json: Flag = False,
) -> None:
    """Compare a model's predictions with known targets.

    For example, `ccn evaluate run other.csv`, or `ccn evaluate run other.csv --target measured_pce --json`.

    Parameters
    ----------
    model: Path
        A model file or the folder of a run.
    source: str
        A table of molecules with the targets, or a name that `ccn data list` shows.
    target: list[str]
        Columns of the targets, in the order of the model's; by default those of training.
    smiles_column: str
        Column of SMILES; by default that of training, or found.
    interval: float
        Level of the intervals whose coverage is shown.
    strict: bool
        Stop at the first bad row.
    threads: int
        Threads of torch.
    device: str
        cpu, cuda or mps.
    quiet: bool
        Say nothing but the metrics.
    json: bool
        Print JSON for machines.

    """
    from ccn.cli.show import print_json, say, table
    from ccn.learning.model_file import load
    from ccn.reports.summary import metrics_rows
    from ccn.runs.evaluate import evaluate_on
    from ccn.training.machine import torch_device, torch_threads

    with torch_threads(threads):
        data, found = evaluate_on(
            load(model).to(torch_device(device)),
            source,
            targets=target,
            smiles_column=smiles_column,
            level=interval,
            strict=strict,
        )
    if json:
        print_json({"model": str(model), "data": data.name, **found})
        return
    say(quiet)(str(data))
    table(f"{model} on {data.name}, {found['rows']:,} rows", *metrics_rows({"": found["metrics"]}))
    if held := found["interval"]:
        print(f"intervals of {100 * held['level']:.0f} % held {100 * held['coverage']:.1f} % of the targets")

"""``ccn evaluate``: the metrics of a model on other data."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from ccn.cli.options import Device, Flag, Json, ModelPath, Quiet, Sheet, Smiles, Source, Threads

__all__ = ["evaluate"]


def evaluate(
    model: ModelPath,
    source: Source,
    /,
    *,
    target: Annotated[list[str] | None, Parameter(name=("--target", "--target-columns"), negative="")] = None,
    smiles_column: Smiles = None,
    sheet: Sheet = None,
    interval: float = 0.9,
    strict: Flag = False,
    threads: Threads = None,
    device: Device = "cpu",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Compare a model's predictions with known targets.

    For example, `ccn evaluate run other.csv`, or `ccn evaluate run other.csv --target measured_pce --json`.

    Args:
        target: Target columns, in the order of those of the model; by default the same names.
        interval: Level of the prediction intervals whose coverage is shown.
        strict: Stop at the first invalid row.
    """
    from ccn.cli.show import coverage, print_json, say, table
    from ccn.learning.model_file import load
    from ccn.progress import progress
    from ccn.reports.summary import metrics_rows, overlap_text
    from ccn.runs.answers import NOT_FINITE
    from ccn.runs.evaluate import evaluate_on
    from ccn.training.execution import torch_device, torch_threads

    with torch_threads(threads), progress("evaluating", shown=not (quiet or json)) as tell:
        data, found = evaluate_on(
            load(model).to(torch_device(device)),
            source,
            targets=target,
            smiles_column=smiles_column,
            sheet=sheet,
            level=interval,
            strict=strict,
            say=lambda line: tell(0, line),
        )
    if json:
        print_json({"model": str(model), "data": data.name, **found})
        return
    say(quiet)(str(data))
    table(
        f"{model} on {data.name}, {found['rows']:,} rows", *metrics_rows({"": found["metrics"]}, {"": found["overlap"]})
    )
    if "not_finite" in found:
        print(f"{found['not_finite']:,} more rows do not count: {NOT_FINITE.format('prediction')}.")
    print(overlap_text(found["overlap"], found["rows"]))
    coverage(found["interval"])

"""``ccn train``: from a file of molecules to a model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from ccn.cli.options import Flag, Output, Settings, Source
from ccn.methods.registry import METHODS

__all__ = ["train"]

_METHODS = f"Method to fit, by default auto, a stack of several: {', '.join(METHODS)}."

_BUDGET = "Work of the method auto: about 1, 3 or 30 minutes for 5,000 molecules on 2 cores; by default normal."


def train(
    source: Source | None = None,
    /,
    *,
    output: Annotated[Path, Output] = Path("run"),
    method: Annotated[str | None, Parameter(help=_METHODS)] = None,
    budget: Annotated[Literal["fast", "normal", "best"] | None, Parameter(help=_BUDGET)] = None,
    start: Annotated[Path | None, Parameter(name="--from")] = None,
    cluster: str | None = None,
    checkpoint_every: float = 30.0,
    tensorboard: Flag = False,
    report: bool = True,
    settings: Settings = Settings(),
) -> None:
    """Train a model on molecules or a data set; everything about the run goes into one folder.

    For example, `ccn train molecules.csv --target pce --output run`.

    By default networks, a Gaussian process and boosted trees are fitted and weighed by how well they predict rows that
    they were not fitted on; settings of networks apply to the networks among them. `--method ccn` trains one network.

    The SMILES column and the task are detected, rows are split 80/10/10, and invalid rows are listed in dropped.csv.
    Resume an interrupted run with `ccn train --output run --resume`.

    Args:
        output: Folder for the run; it must be new, unless --resume or --overwrite is given.
        start: Fine-tune this model of a network, such as of --method ccn, a file or the folder of a run: its method,
            inputs and settings, at a tenth of its learning rate.
        cluster: Address of a Dask scheduler, such as tcp://host:8786, whose workers fit the folds and members of auto;
            local starts one here. The model is the same as without; needs pip install 'ccn[cluster]'.
        checkpoint_every: Seconds between checkpoints; the first comes after 10 seconds at the latest.
        tensorboard: Also write a TensorBoard log.
        report: Write report.html at the end, a page to open in a browser; `ccn report` writes it later.
    """
    from ccn.cli.show import coverage, print_json, say, table
    from ccn.engine.memory import keep_freed_memory
    from ccn.reports.summary import crossed_rows, leaderboard_rows, metrics_rows, overlap_text
    from ccn.reports.trust import trust_text, words_rows
    from ccn.runs.train import train_run
    from ccn.training.execution import Execution, is_first

    first = is_first()
    config, _ = settings.resolve(
        source, output, method=method, budget=budget, start=start, check=first or settings.resume
    )
    tell = say(settings.quiet or not first)
    keep_freed_memory()
    try:
        execution = Execution(
            resume=settings.resume,
            every=checkpoint_every,
            time_limit=settings.time_limit,
            tensorboard=tensorboard,
            verbose=first and not settings.quiet,
        )
        done = train_run(config, output, execution, tell, cluster=cluster)
    except KeyboardInterrupt:
        tell(f"interrupted; resume with: ccn train --output {output} --resume")
        raise
    if not first:
        return
    page = _report(output, tell) if report else None
    if settings.json:
        print_json({"folder": str(output), "report": page and str(page), **done.metrics})
    elif not settings.quiet:
        overlap = done.metrics["overlap"] or {}
        if crossed := done.metrics.get("cross_validation"):
            table("Cross-validation", *crossed_rows(crossed))
        if board := done.model.about.get("leaderboard"):
            table("Members, on rows they were not fitted on", *leaderboard_rows(board))
        shown = metrics_rows(done.metrics["metrics"], overlap)
        if shown[1]:
            table("Metrics", *shown)
        for part, same in overlap.items():
            if "without" in same:
                print(overlap_text(same, done.metrics["graphs"][part], f"{part} "))
        coverage(done.metrics.get("interval"))
        if trust := done.metrics.get("trust"):
            table("Error by distance to the training molecules", *words_rows(trust), {"", "distance"})
            print(trust_text(trust))
        print(f"saved in {output}: model.safetensors and more; next: ccn predict {output} FILE -o out.csv")
        if page is not None:
            print(f"report: {page}")


def _report(folder: Path, tell: Callable[[str], None]) -> Path | None:
    """The report; None, and a message, if it cannot be written, since the run is complete without it."""
    from ccn.errors import CCNError
    from ccn.reports.report import write_report

    try:
        return write_report(folder)
    except (CCNError, OSError) as error:
        tell(f"the run is complete, but it has no report ({error}); to try again: ccn report {folder}")
        return None

"""``ccn train``: from a file of molecules to a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from ccn.cli import options as o
from ccn.cli.options import Flag

__all__ = ["train"]

Flat = Parameter(name="*")


def train(
    source: str | None = None,
    /,
    *,
    output: Annotated[Path, Parameter(name=("--output", "-o"))] = Path("run"),
    method: str | None = None,
    recipe: Literal["default", "paper"] | None = None,
    config: Path | None = None,
    seed: int | None = None,
    threads: int | None = None,
    time_limit: float | None = None,
    checkpoint_every: float = 30.0,
    resume: Flag = False,
    overwrite: Flag = False,
    tensorboard: Flag = False,
    quiet: Flag = False,
    json: Flag = False,
    data: Annotated[o.DataFlags, Flat] | None = None,  # type: ignore[valid-type]
    splitting: Annotated[o.SplittingFlags, Flat] | None = None,  # type: ignore[valid-type]
    machine: Annotated[o.MachineFlags, Flat] | None = None,  # type: ignore[valid-type]
    features: Annotated[o.FeaturesFlags, Flat] | None = None,  # type: ignore[valid-type]
    network: Annotated[o.NetworkFlags, Flat] | None = None,  # type: ignore[valid-type]
    optimiser: Annotated[o.OptimiserFlags, Flat] | None = None,  # type: ignore[valid-type]
    training: Annotated[o.TrainingFlags, Flat] | None = None,  # type: ignore[valid-type]
) -> None:
    """Train a network, or another method, on molecules or a data set; all about the run goes into one folder.

    For example, `ccn train molecules.csv --target pce --output run --epochs 50`.

    The column of SMILES and the task are found, rows are dealt 80/10/10, bad rows are left out and listed in
    dropped.csv. A run that was cut goes on with `ccn train --output run --resume`.

    Parameters
    ----------
    source: str
        A table of molecules (CSV, TSV, Parquet, SDF, SMILES), or a name that `ccn data list` shows.
    output: Path
        Folder for the run; it must be new, or --resume or --overwrite be given.
    method: str
        ccn, or a method that it is compared with: lasso, ridge, forest, boosting, wl, wl-edge, wl-oa, shortest-path,
        graphlet, random-walk, multiscale-laplacian, ngf, pscn, gin, ccn-1, ccn-2, ccn-2-default, ccn-3-default,
        ccn-2-kernel.
    recipe: str
        Where settings come from that are not given: default, or paper for those of Kondor et al. (2018).
    config: Path
        A TOML file of settings, such as the config.toml of a run; flags come before it.
    seed: int
        Same seed, same result.
    threads: int
        Threads of torch.
    time_limit: float
        Seconds after which training ends with the best so far.
    checkpoint_every: float
        Seconds between checkpoints.
    resume: bool
        Go on with the run in the folder, with its settings.
    overwrite: bool
        Replace the run in the folder.
    tensorboard: bool
        Also write a TensorBoard log.
    quiet: bool
        Say nothing but errors.
    json: bool
        Print the metrics as JSON on standard output.

    """
    from ccn.cli.show import print_json, say, table
    from ccn.reports.summary import metrics_rows
    from ccn.runs.config import merged, read_config, resolve
    from ccn.runs.folder import check_folder
    from ccn.runs.train import train_run
    from ccn.training.machine import is_first, keep_memory

    flags = o.given(
        data=data,
        splitting=splitting,
        machine=machine,
        features=features,
        network=network,
        optimiser=optimiser,
        training=training,
    )
    first = is_first()
    file: dict[str, Any] = {} if config is None else read_config(config)
    asked = method or file.get("method")
    before = check_folder(output, resume=resume, overwrite=overwrite, method=asked) if first or resume else None
    settings = resolve(
        source, flags, merged(before or {}, file), method=method, recipe=recipe, seed=seed, threads=threads
    )
    tell = say(quiet or not first)
    keep_memory()
    try:
        done = train_run(
            settings,
            output,
            resume=resume,
            checkpoint_every=checkpoint_every,
            time_limit=time_limit,
            tensorboard=tensorboard,
            verbose=first and not quiet,
            say=tell,
        )
    except KeyboardInterrupt:
        tell(f"interrupted; go on with: ccn train --output {output} --resume")
        raise
    if not first:
        return
    if json:
        print_json({"folder": str(output), **done.metrics})
    elif not quiet:
        table("How good it is", *metrics_rows(done.metrics["metrics"]))
        if held := done.metrics.get("interval"):
            print(f"intervals of {100 * held['level']:.0f} % held {100 * held['coverage']:.1f} % of the test targets")
        print(f"saved in {output}: model.safetensors, report.md and more; next: ccn predict {output} FILE -o out.csv")

"""``ccn tune``: settings that suit the data, by search."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from ccn.cli import options as o
from ccn.cli.options import Flag

__all__ = ["tune"]

Flat = Parameter(name="*")


def tune(
    source: str | None = None,
    /,
    *,
    output: Annotated[Path, Parameter(name=("--output", "-o"))] = Path("tuned"),
    trials: int = 50,
    recipe: Literal["default", "paper"] | None = None,
    config: Path | None = None,
    seed: int | None = None,
    threads: int | None = None,
    time_limit: float | None = None,
    resume: Flag = False,
    overwrite: Flag = False,
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
    """Search for good settings on the validation part; the test part is never looked at.

    For example, `ccn tune molecules.csv --target pce --trials 50 --output tuned`, then
    `ccn train molecules.csv --config tuned/best.toml --output run`.

    A setting that is given is kept; the others are drawn by Optuna, and trials that fall behind are cut short. A search
    that was cut, or that should have more trials, goes on with --resume.

    Parameters
    ----------
    source: str
        A table of molecules, or a name that `ccn data list` shows.
    output: Path
        Folder for the search: study.log, trials.csv and best.toml.
    trials: int
        Networks to try, in all.
    recipe: str
        Where settings come from that are neither given nor searched.
    config: Path
        A TOML file of settings to keep; flags come before it.
    seed: int
        Same seed, same result.
    threads: int
        Threads of torch.
    time_limit: float
        Seconds after which no new trial begins.
    resume: bool
        Go on with the search in the folder.
    overwrite: bool
        Replace the search in the folder.
    quiet: bool
        Say nothing but errors.
    json: bool
        Print the best settings as JSON on standard output.

    """
    from ccn.cli.show import print_json, say, table
    from ccn.reports.summary import figure
    from ccn.runs.config import merged, read_config, resolve
    from ccn.runs.folder import check_folder
    from ccn.runs.tune import search

    flags = o.given(
        data=data,
        splitting=splitting,
        machine=machine,
        features=features,
        network=network,
        optimiser=optimiser,
        training=training,
    )
    file: dict[str, Any] = {} if config is None else read_config(config)
    before = check_folder(output, resume=resume, overwrite=overwrite)
    settings = resolve(source, flags, merged(before or {}, file), recipe=recipe, seed=seed, threads=threads)
    kept = {
        f"{name}.{key}"
        for section in (file, flags)
        for name, part in section.items()
        if isinstance(part, dict)
        for key in part
    }
    try:
        found = search(settings, output, trials, kept=kept, time_limit=time_limit, resume=resume, say=say(quiet))
    except KeyboardInterrupt:
        say(quiet)(f"interrupted; go on with: ccn tune --output {output} --trials {trials} --resume")
        raise
    if json:
        print_json({"trials": found.trials, "value": found.value, "best": found.settings})
    elif not quiet:
        rows = [[name, figure(v) if isinstance(v, float) else str(v)] for name, v in found.settings.items()]
        table(f"Best of {found.trials} trials: validation {found.monitor} {figure(found.value)}", ["", ""], rows)
        print(f"next: ccn train {settings.source} --config {output / 'best.toml'} --output run")

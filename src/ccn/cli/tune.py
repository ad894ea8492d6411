"""``ccn tune``: hyperparameter search."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from ccn.cli.options import Output, Settings, Source

__all__ = ["tune"]


def tune(
    source: Source | None = None,
    /,
    *,
    output: Annotated[Path, Output] = Path("tuned"),
    trials: int = 50,
    settings: Settings = Settings(),
) -> None:
    """Search for good settings on the validation part; the test part is never used.

    For example, `ccn tune molecules.csv --target pce --trials 50 --output tuned`, then
    `ccn train molecules.csv --config tuned/best.toml --output run`.

    Settings that are given stay fixed; Optuna samples the others and prunes poor trials. --resume continues an
    interrupted search, or adds trials.

    Args:
        output: Folder for the search: study.log, trials.csv and best.toml.
        trials: Total number of trials.
    """
    from ccn.cli.show import print_json, say, table
    from ccn.reports.summary import figure
    from ccn.runs.tune import search

    config, kept = settings.resolve(source, output, method="ccn")
    tell = say(settings.quiet)
    limit, resume = settings.time_limit, settings.resume
    try:
        found = search(config, output, trials, kept=kept, time_limit=limit, resume=resume, say=tell)
    except KeyboardInterrupt:
        tell(f"interrupted; resume with: ccn tune --output {output} --trials {trials} --resume")
        raise
    if settings.json:
        print_json({"trials": found.trials, "value": found.value, "best": found.settings})
    elif not settings.quiet:
        rows = [[name, figure(v) if isinstance(v, float) else str(v)] for name, v in found.settings.items()]
        table(f"Best of {found.trials} trials: validation {found.monitor} {figure(found.value)}", ["", ""], rows)
        print(f"next: ccn train {config.source} --config {output / 'best.toml'} --output run")

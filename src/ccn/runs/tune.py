"""A search for settings with Optuna, on the validation part alone; it can be cut at any moment and go on.

The study is a journal in the folder of the search: finished trials are never done again. What a trial draws is a
function of the seed and of the trials finished before it, so that a search which was cut ends like one that was not.
"""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ccn.errors import CCNError, ConfigurationError, DependencyError
from ccn.files import write_atomically
from ccn.learning.metrics import better
from ccn.methods.method import fit
from ccn.runs.config import Config, begin_folder, resolve, to_dict, to_toml
from ccn.runs.data import divide, read_data
from ccn.training.execution import Execution, torch_threads

__all__ = ["SPACE", "Found", "search"]

SPACE: dict[str, tuple[str, dict[str, Any]]] = {
    "optimiser.learning_rate": ("float", {"low": 3e-4, "high": 1e-2, "log": True}),
    "optimiser.weight_decay": ("float", {"low": 1e-5, "high": 1e-1, "log": True}),
    "network.levels": ("int", {"low": 1, "high": 3}),
    "network.channels": ("categorical", {"choices": (8, 16, 32)}),
    "network.dropout": ("float", {"low": 0.0, "high": 0.3}),
    "network.hidden": ("categorical", {"choices": (64, 128, 256)}),
    "training.batch_size": ("categorical", {"choices": (32, 64, 128)}),
}
"""What is searched: the setting, and how Optuna draws it."""


@dataclass(frozen=True)
class Found:
    """The best settings, their value of what is watched, and the trials that were needed."""

    settings: Mapping[str, Any]
    value: float
    monitor: str
    trials: int


def search(
    config: Config,
    folder: Path,
    trials: int,
    *,
    resume: bool = False,
    kept: Collection[str] = (),
    time_limit: float | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Found:
    """Try until there are so many trials; the best configuration is written to ``best.toml``.

    Args:
        config: what is not searched.
        folder: allowed by :func:`ccn.runs.train.check_folder`.
        trials: in all, with those of an earlier run.
        resume: go on with the search in the folder.
        kept: settings such as ``network.levels`` that are not searched.
        time_limit: seconds after which no new trial begins.
        say: told of every trial.

    """
    try:
        import optuna
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend
    except ImportError:
        raise DependencyError("ccn tune needs Optuna: pip install 'ccn[tune]'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    if trials < 1:
        raise ConfigurationError(f"--trials {trials}: at least one")
    monitor = config.recipe.training.monitor
    smaller = better(monitor, 0.0, 1.0)
    began = time.monotonic()
    data = read_data(config)
    _, examples = divide(data, config)
    rows = np.concatenate([examples.validation, examples.split.calibration])
    if not len(rows):
        raise ConfigurationError("a search needs a validation part; give it a share with --fractions 0.8,0.1,0.1")
    examples = replace(examples, split=replace(examples.split, validation=rows, calibration=rows[:0]))
    say(str(data))
    config.machine.check()
    if not resume:
        _searched(kept)
    begin_folder(folder, config, resume=resume)
    study = optuna.create_study(
        storage=JournalStorage(JournalFileBackend(str(folder / "study.log"))),
        study_name="ccn",
        direction="minimize" if smaller else "maximize",
        pruner=optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=config.recipe.training.epochs // 5),
        load_if_exists=True,
    )
    if "kept" not in study.user_attrs:
        study.set_user_attr("kept", sorted(kept))
    searched = _searched(study.user_attrs["kept"])
    for trial in study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.RUNNING,)):
        study.tell(trial.number, state=optuna.trial.TrialState.FAIL)  # it was cut

    def run(trial: Any) -> float:
        drawn = {name: getattr(trial, f"suggest_{kind}")(name, **how) for name, (kind, how) in searched.items()}
        best: list[float] = []

        def watch(row: Mapping[str, float]) -> None:
            value = row[f"validation_{monitor}"]
            if not best or better(monitor, value, best[0]):
                best[:] = [value]
            trial.report(value, int(row["epoch"]))
            if trial.should_prune():
                raise optuna.TrialPruned

        one = _with(config, {**drawn, "training.members": 1})
        fit(one.make(classification=examples.classification), examples, Execution(config.machine, watch=watch))
        return best[0]

    state = optuna.trial.TrialState
    with torch_threads(config.threads):
        while True:
            ended = study.get_trials(deepcopy=False, states=(state.COMPLETE, state.PRUNED))
            if len(ended) >= trials or (ended and time_limit is not None and time.monotonic() - began > time_limit):
                break
            study.sampler = optuna.samplers.TPESampler(seed=config.seed + len(ended), constant_liar=False)
            trial = study.ask()
            try:
                value = run(trial)
            except optuna.TrialPruned:
                study.tell(trial, state=state.PRUNED)
                say(f"trial {len(ended) + 1} of {trials}: cut short")
            except CCNError as error:
                # A drawn setting that diverges is a bad one, not the end of the search.
                study.tell(trial, state=state.PRUNED)
                say(f"trial {len(ended) + 1} of {trials}: {error}")
            else:
                study.tell(trial, value)
                say(
                    f"trial {len(ended) + 1} of {trials}: validation {monitor} {value:.4g}, best {study.best_value:.4g}"
                )
            _write(folder, study, monitor)
    if not study.get_trials(deepcopy=False, states=(state.COMPLETE,)):
        raise ConfigurationError("no trial came to its end; look at the messages above and give other settings")
    best = dict(study.best_params)
    write_atomically(folder / "best.toml", to_toml(_with(config, best)).encode())
    _write(folder, study, monitor)
    return Found(best, float(study.best_value), monitor, len(ended))


def _searched(kept: Collection[str]) -> dict[str, tuple[str, dict[str, Any]]]:
    """What is searched where some settings are kept; an error if that is nothing."""
    found = {name: how for name, how in SPACE.items() if name not in kept}
    if not found:
        raise ConfigurationError(f"nothing is left to search: all of {', '.join(SPACE)} are given")
    return found


def _with(config: Config, drawn: Mapping[str, Any]) -> Config:
    sections: dict[str, dict[str, Any]] = {}
    for name, value in drawn.items():
        section, _, key = name.partition(".")
        sections.setdefault(section, {})[key] = value
    return resolve(None, sections, to_dict(config))


def _write(folder: Path, study: Any, monitor: str) -> None:
    """All trials as a table."""
    text = io.StringIO()
    listed = study.get_trials(deepcopy=False)
    names = sorted({name for trial in listed for name in trial.params})
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["trial", "state", monitor, *names])
    for trial in listed:
        values = [trial.params.get(name, "") for name in names]
        table.writerow([trial.number, trial.state.name.lower(), "" if trial.value is None else trial.value, *values])
    write_atomically(folder / "trials.csv", text.getvalue().encode())

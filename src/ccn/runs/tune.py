"""Hyperparameter search with Optuna on the validation part; it can be interrupted at any moment and resumed.

The study is a journal in the folder of the search, one line for each change: finished trials are not repeated, an
interrupted one is started again. What a trial samples depends on the seed and the finished trials alone, so that a
resumed search gives the same result as one that was not interrupted.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from ccn.errors import CCNError, ConfigurationError, FileError, needs
from ccn.files import write_atomically
from ccn.learning.examples import Examples
from ccn.learning.metrics import better
from ccn.methods.method import fit
from ccn.progress import log
from ccn.reports.markup import csv_text
from ccn.runs.config import Config, begin_folder, hold_folder, resolve, to_dict, to_toml
from ccn.runs.data import divide, read_data, shared_molecules
from ccn.training.execution import Execution, torch_threads

__all__ = ["SPACE", "Found", "search"]

_Space = dict[str, tuple[str, dict[str, Any]]]
SPACE: _Space = {
    "optimiser.learning_rate": ("float", {"low": 3e-4, "high": 1e-2, "log": True}),
    "optimiser.weight_decay": ("float", {"low": 1e-5, "high": 1e-1, "log": True}),
    "network.levels": ("int", {"low": 1, "high": 3}),
    "network.channels": ("categorical", {"choices": (8, 16, 32)}),
    "network.dropout": ("float", {"low": 0.0, "high": 0.3}),
    "network.hidden": ("categorical", {"choices": (64, 128, 256)}),
    "training.batch_size": ("categorical", {"choices": (32, 64, 128)}),
}
"""The settings that are searched, and how Optuna samples each."""


@dataclass(frozen=True)
class Found:
    """The best settings, their value of the monitored metric, and the number of trials."""

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
    say: Callable[[str], None] = log,
) -> Found:
    """Run trials and write the best configuration to ``best.toml``.

    Args:
        config: the settings that are not searched.
        folder: allowed by :func:`ccn.runs.config.check_folder`.
        trials: total number, with those of an earlier run.
        resume: resume the search in the folder.
        kept: settings such as ``network.levels`` that are not searched.
        time_limit: seconds after which no new trial begins.
        say: called with a line about every trial.
    """
    with needs("ccn tune", "tune"):
        import optuna
    if trials < 1:
        raise ConfigurationError(f"--trials {trials}: at least one")
    if config.start is not None:
        raise ConfigurationError("from: a search begins with new networks; leave it out of the configuration")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    monitor, state = config.recipe.training.monitor, optuna.trial.TrialState
    began = time.monotonic()
    with hold_folder(folder), torch_threads(config.threads):
        examples = _examples(config, say)
        if not resume:
            _searched(kept)
        begin_folder(folder, config, resume=resume)
        study, searched = _study(folder / "study.log", config, kept)
        while True:
            ended = study.get_trials(deepcopy=False, states=(state.COMPLETE, state.PRUNED))
            if len(ended) >= trials or (ended and time_limit is not None and time.monotonic() - began > time_limit):
                break
            study.sampler = optuna.samplers.TPESampler(seed=config.seed + len(ended), constant_liar=False)
            trial = study.ask()
            try:
                value = _best_value(trial, searched, config, examples)
            except FileError:  # of the journal
                raise
            except (optuna.TrialPruned, CCNError) as error:  # settings that diverge do not end the search
                study.tell(trial, state=state.PRUNED)
                result = str(error) or "pruned"
            else:
                study.tell(trial, value)
                result = f"validation {monitor} {value:.4g}, best {study.best_value:.4g}"
            say(f"trial {len(ended) + 1} of {trials}: {result}")
            _write(folder, study, monitor)
        if not study.get_trials(deepcopy=False, states=(state.COMPLETE,)):
            raise ConfigurationError("no trial was completed; see the messages above and change the settings")
        _write(folder, study, monitor)
        best = dict(study.best_params)
        write_atomically(folder / "best.toml", to_toml(_with(config, best)).encode())
        return Found(best, float(study.best_value), monitor, len(ended))


def _examples(config: Config, say: Callable[[str], None]) -> Examples:
    """The examples of all trials, whose validation part includes what is reserved for calibration elsewhere."""
    data = read_data(config)
    split, examples = divide(data, config)
    rows = np.concatenate([examples.validation, examples.split.calibration])
    if not len(rows):
        raise ConfigurationError("a search needs a validation part; give it a share with --fractions 0.8,0.1,0.1")
    say(str(data))
    shared_molecules(data, split, say)
    config.machine.check()
    return replace(examples, split=replace(examples.split, validation=rows, calibration=rows[:0]))


def _best_value(trial: Any, searched: _Space, config: Config, examples: Examples) -> float:
    """The best validation metric of a network with sampled settings; ``TrialPruned`` if it is far behind others."""
    import optuna

    monitor, values = config.recipe.training.monitor, list[float]()

    def watch(row: Mapping[str, float]) -> None:
        values.append(row[f"validation_{monitor}"])
        trial.report(values[-1], int(row["epoch"]))
        if trial.should_prune():
            raise optuna.TrialPruned

    drawn = {name: getattr(trial, f"suggest_{kind}")(name, **how) for name, (kind, how) in searched.items()}
    method = _with(config, {**drawn, "training.members": 1}).make(classification=examples.classification)
    fit(method, examples, Execution(config.machine, watch=watch), domain=False)
    return reduce(lambda a, b: b if better(monitor, b, a) else a, values)


def _study(path: Path, config: Config, kept: Collection[str]) -> tuple[Any, _Space]:
    """The study of a journal, begun if there is none, and what it searches."""
    import optuna

    monitor, state = config.recipe.training.monitor, optuna.trial.TrialState
    journal: Any = _Journal(path)
    try:
        study = optuna.create_study(
            storage=optuna.storages.JournalStorage(journal),
            study_name="ccn",
            direction="minimize" if better(monitor, 0.0, 1.0) else "maximize",
            pruner=optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=config.recipe.training.epochs // 5),
            load_if_exists=True,
        )
        if "kept" not in study.user_attrs:
            study.set_user_attr("kept", sorted(kept))
        for trial in study.get_trials(deepcopy=False, states=(state.RUNNING,)):
            study.tell(trial.number, state=state.FAIL)  # it was interrupted
        for trial in study.get_trials(deepcopy=False):
            numbers = [*(trial.values or ()), *trial.intermediate_values.values()]
            if not all(isinstance(x, int | float) for x in numbers):
                raise _damaged(path, TypeError(f"trial {trial.number} has a value that is not a number"))
        return study, _searched(study.user_attrs["kept"])
    except CCNError:
        raise
    except Exception as error:  # Optuna believes what it reads
        raise _damaged(path, error) from None


def _damaged(path: Path, error: Exception) -> FileError:
    return FileError(f"{path}: damaged ({type(error).__name__}: {error}); begin the search again with --overwrite")


class _Journal:
    """A journal of Optuna as lines of JSON, each on disk before anything is done that follows from it.

    The folder belongs to one process, so that no lock is needed, which would outlive a process that is killed. Such a
    process may leave half a line, which is removed.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        content = path.read_bytes() if path.exists() else b""
        whole = content[: content.rfind(b"\n") + 1]
        if whole != content or not path.exists():
            write_atomically(path, whole)
        self._lines = whole.splitlines()

    def read_logs(self, log_number_from: int) -> Iterator[dict[str, Any]]:
        for line in self._lines[log_number_from:]:
            try:
                yield json.loads(line)
            except (ValueError, RecursionError) as error:
                raise _damaged(self._path, error) from None

    def append_logs(self, logs: Sequence[Mapping[str, Any]]) -> None:
        lines = [json.dumps(entry).encode() for entry in logs]
        try:
            with self._path.open("ab") as file:
                file.write(b"".join(line + b"\n" for line in lines))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise FileError(f"{self._path}: cannot be written ({error.strerror}); continue with --resume") from None
        self._lines += lines


def _searched(kept: Collection[str]) -> _Space:
    """What is searched if some settings are kept; an error if nothing remains."""
    searched = {name: how for name, how in SPACE.items() if name not in kept}
    if not searched:
        raise ConfigurationError(f"nothing is left to search: all of {', '.join(SPACE)} are given")
    return searched


def _with(config: Config, drawn: Mapping[str, Any]) -> Config:
    sections: dict[str, dict[str, Any]] = {}
    for name, value in drawn.items():
        section, _, key = name.partition(".")
        sections.setdefault(section, {})[key] = value
    return resolve(None, sections, to_dict(config))


def _write(folder: Path, study: Any, monitor: str) -> None:
    trials = [t for t in study.get_trials(deepcopy=False) if t.state.name in ("COMPLETE", "PRUNED")]
    names = sorted({name for trial in trials for name in trial.params})
    rows = [[i, t.state.name.lower(), t.value, *(t.params.get(name) for name in names)] for i, t in enumerate(trials)]
    write_atomically(folder / "trials.csv", csv_text(["trial", "state", monitor, *names], rows).encode())

"""From graphs with targets to a trained model: the task, the members one after another, calibration, metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ccn.datasets.splits import random_split, stratified_split
from ccn.errors import ConfigurationError
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Int
from ccn.learning.conformal import calibrate
from ccn.learning.inputs import Inputs
from ccn.learning.metrics import check_monitor
from ccn.learning.model import Model
from ccn.learning.task import Floats, make_task
from ccn.methods.networks import make_network, network_options
from ccn.training.examples import Examples, fingerprint
from ccn.training.history import need_tensorboard
from ccn.training.loop import train
from ccn.training.machine import Machine
from ccn.training.recipe import Recipe
from ccn.version import __version__

__all__ = ["Parts", "Run", "finished", "fit", "split"]


@dataclass(frozen=True)
class Parts:
    """Which rows are for what: fitting, choosing the epoch, calibrating intervals."""

    train: Int
    validation: Int
    calibration: Int


@dataclass(frozen=True)
class Run:
    """How a training run is kept and told, apart from what it learns.

    Attributes:
        folder: where checkpoints and histories go; member i has the folder ``member<i>``.
        resume: go on from what is there.
        every: seconds between checkpoints.
        time_limit: seconds for all members together; what there is by then is the model.
        tensorboard: also write a TensorBoard log.
        verbose: show a progress bar.
        watch: is given the row of every epoch.
        begin: called once the settings have been checked, before anything is learned or written.

    """

    folder: Path | None = None
    resume: bool = False
    every: float = 30.0
    time_limit: float | None = None
    tensorboard: bool = False
    verbose: bool = False
    watch: Callable[[Mapping[str, float]], None] | None = None
    begin: Callable[[], None] = lambda: None


def split(targets: Floats, validation: float, seed: int, *, classification: bool, calibration: bool) -> Parts:
    """Draw the validation part, stratified where there is one target of classes, and keep half of it to calibrate."""
    if not 0 <= validation < 1:
        raise ConfigurationError(f"validation_fraction={validation}: a share of the rows, at least 0 and less than 1")
    kept = validation / 2 if calibration else 0.0
    fractions = (1 - validation, validation - kept, kept)
    if classification and targets.shape[1] == 1:
        drawn = stratified_split(targets[:, 0], fractions, seed)
    else:
        drawn = random_split(len(targets), fractions, seed)
    return Parts(drawn.train, drawn.validation, drawn.test)


def fit(
    graphs: Pack,
    targets: Floats,
    parts: Parts,
    recipe: Recipe,
    inputs: Inputs,
    *,
    classification: bool,
    names: Sequence[str],
    classes: Sequence[Any] = (),
    class_weight: str | Mapping[Any, float] | None = None,
    weights: Floats | None = None,
    seed: int = 0,
    machine: Machine = Machine(),  # noqa: B008 (frozen)
    run: Run = Run(),
    about: Mapping[str, Any] | None = None,
) -> Model:
    """Train a model.

    Args:
        graphs: with the features that the network reads, as ``inputs`` gives them.
        targets: (graphs, targets); NaN where missing, a class as its number among ``classes``.
        parts: which rows are for what.
        recipe: how.
        inputs: how the graphs were read, for the model to read more.
        classification: classes, or numbers.
        names: of the targets.
        classes: what the numbers of classes stand for.
        class_weight: ``balanced``, or a weight per class.
        weights: (graphs,) of the rows.
        seed: of everything; member i is made from a seed of its own that follows from it.
        machine: devices and processes.
        run: how the run is kept and told.
        about: what else the model should know of itself, such as column names.

    """
    recipe = recipe.for_task(classification=classification)
    settings = recipe.training
    task = make_task(
        targets[parts.train],
        classification=classification,
        names=names,
        classes=classes,
        loss=settings.loss,
        class_weight=class_weight,
    )
    examples = Examples(graphs, targets, parts.train, parts.validation, weights)
    options = network_options(recipe.network, graphs, task.outputs)
    seeds = [int(np.random.SeedSequence([seed, i]).generate_state(1)[0]) for i in range(settings.members)]
    first = make_network(options, seeds[0])
    check_monitor(task, settings.monitor)
    machine.check()
    if run.tensorboard:
        need_tensorboard()
    run.begin()
    members, ended, left = [], [], run.time_limit
    for i, own in enumerate(seeds):
        net = make_network(options, own) if i else first
        progress = train(
            net,
            task,
            examples,
            recipe,
            seed=own,
            machine=machine,
            folder=None if run.folder is None else run.folder / f"member{i}",
            resume=run.resume,
            every=run.every,
            time_limit=left,
            log_tensorboard=run.tensorboard,
            verbose=run.verbose,
            watch=run.watch,
            title=f"member {i + 1} of {settings.members}" if settings.members > 1 else "training",
        )
        members.append(net.eval())
        ended.append({"epochs": progress.epoch, "best_epoch": progress.best_epoch + 1, "ended": progress.ended})
        left = None if left is None else max(0.0, left - progress.seconds)
    model = Model(tuple(members), options, task, inputs, recipe)
    return finished(model, graphs, targets, parts, seed, ended, about or {})


def finished(
    model: Model,
    graphs: Pack,
    targets: Floats,
    parts: Parts,
    seed: int,
    ended: Sequence[Mapping[str, Any]],
    about: Mapping[str, Any],
) -> Model:
    """A trained model with its intervals, and with what is known of its training; ``ended`` says how members ended."""
    found = {
        name: model.evaluate(graphs.select(rows), targets[rows])
        for name, rows in (("validation", parts.validation), ("calibration", parts.calibration))
        if len(rows)
    }
    known = {
        "ccn": __version__,
        "seed": seed,
        "graphs": {name: len(getattr(parts, name)) for name in ("train", "validation", "calibration")},
        "fingerprint": fingerprint(graphs.select(parts.train), targets[parts.train]),
        "metrics": found,
        "members": ended,
        **about,
    }
    return replace(_calibrated(model, graphs, targets, parts), about=known)


def _calibrated(model: Model, graphs: Pack, targets: Floats, parts: Parts) -> Model:
    """The model with intervals, if it is a regression and rows were kept for them."""
    if model.task.kind != "regression" or not len(parts.calibration):
        return model
    each = model.each(graphs.select(parts.calibration))
    floor: Sequence[float] = ()
    if len(model.members) > 1 and model.task.scale is not None and len(parts.validation):
        # Where members agree, half of the usual spread is still allowed for.
        usual = np.median(model.each(graphs.select(parts.validation)).std(axis=0), axis=0)
        floor = np.maximum(0.5 * usual, 1e-6 * np.array(model.task.scale.deviation)).tolist()
    made = calibrate(targets[parts.calibration], each.mean(axis=0), each.std(axis=0), floor)
    return replace(model, calibration=made)

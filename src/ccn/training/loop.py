"""The training loop, on Lightning Fabric: one network, one run.

A run is repeatable because everything is a function of the seed and the step: the order of an epoch, the learning rate
and the random numbers. On one CPU thread, a run that is interrupted anywhere and resumed from its last checkpoint ends
with the same bits as one that was not.

Each of several processes takes its share of every batch. The loss is the mean over the known targets of the global
batch: each process divides its sum by the weight of all and, since Fabric's data-parallel strategy averages gradients,
multiplies by the number of processes.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from ccn.errors import FileError, TrainingError
from ccn.files import digest
from ccn.layers.normalisation import BatchNorm
from ccn.learning.examples import Examples, fingerprint
from ccn.learning.metrics import better, check_monitor, metrics
from ccn.learning.task import Task
from ccn.progress import progress as show_progress
from ccn.training import checkpoint
from ccn.training.batches import Batches, outputs
from ccn.training.checkpoint import Progress, tensorboard, write_history
from ccn.training.execution import Execution
from ccn.training.optimiser import contraction_penalty, make_optimiser, rate, set_rate
from ccn.training.recipe import Recipe

if TYPE_CHECKING:
    from lightning_fabric import Fabric

__all__ = ["rose", "train"]

ROSE = "validation loss rose"


def train(
    net: nn.Module,
    task: Task,
    examples: Examples,
    recipe: Recipe,
    *,
    seed: int = 0,
    execution: Execution = Execution(),  # noqa: B008 (frozen)
    title: str = "training",
) -> Progress:
    """Train a network; afterwards it has the weights of its best epoch on the validation part, or of its last.

    With ``keep="last"`` a run that ends before its last epoch, or whose validation loss rose, has those of its best.

    Args:
        net: any module from a :class:`ccn.Batch` to (graphs, outputs).
        task: what the outputs mean.
        examples: graphs and targets.
        recipe: optimiser, epochs and the rest, with a value for each field (:meth:`Recipe.for_task`).
        seed: of the order of the batches and of dropout.
        execution: devices, checkpoints, limits, progress.
        title: of the progress bar.

    Returns:
        The progress of the run; ``ended`` is ``epochs``, ``patience``, ``time limit`` or ``validation loss rose``.
    """
    run = _Loop(net, task, examples, recipe, seed, execution)
    fabric, folder = run.fabric, execution.folder
    progress, best = run.begin(execution.resume)
    if execution.resume and folder is not None:
        execution.say(f"{title}: {_resumed(progress, run.epochs)}")
    wait = execution.every if progress.step else min(execution.every, execution.first)
    began, saved = time.monotonic() - progress.seconds, time.monotonic()

    def save() -> None:
        nonlocal saved, wait
        if folder is not None and run.first:
            checkpoint.save(folder, progress, net, best, run.bare_optimiser, run.name)
        saved, wait = time.monotonic(), execution.every

    with ExitStack() as stack:
        # The state of the process's random numbers is restored at the end.
        stack.enter_context(torch.random.fork_rng([fabric.device] if fabric.device.type == "cuda" else []))
        shown = execution.verbose and run.first
        update = stack.enter_context(show_progress(title, run.steps, notes=True, shown=shown))
        log = stack.enter_context(tensorboard(folder if execution.tensorboard and run.first else None))
        while not progress.ended:
            for _ in run.epoch(progress):
                update(progress.step)
                progress.seconds = time.monotonic() - began
                limit = execution.time_limit  # by the clock of the first process
                over = limit is not None and fabric.broadcast(progress.seconds > limit)
                if over or time.monotonic() - saved > wait:
                    save()
                if over:
                    progress.ended = "time limit"
                    break
            else:
                row = run.close_epoch(progress)
                if progress.best_epoch == progress.epoch - 1:
                    best = {k: v.detach().clone() for k, v in net.state_dict().items()}
                progress.seconds = time.monotonic() - began
                if progress.ended or time.monotonic() - saved > wait:
                    save()
                if folder is not None and run.first:
                    write_history(folder / "history.csv", progress.history)
                update(progress.step, _line(row, run.epochs))
                log(row)
                if execution.watch is not None:
                    execution.watch(row)
    net.load_state_dict(best or net.state_dict())
    if progress.ended == ROSE:
        execution.say(
            f"{title}: the validation loss rose to {progress.history[-1]['validation_loss']:.3g}; stopped after epoch "
            f"{progress.epoch}, and epoch {progress.best_epoch + 1} is kept"
        )
    return progress


def rose(losses: Sequence[float], constant: float, epochs: int) -> bool:
    """Whether a run of so many epochs has diverged, by the validation losses of those done.

    So if in the last of them, as many as a third of all epochs and at least 5, every loss was above twice the least so
    far and above that of a constant prediction. After the last epoch it is enough that this epoch is so.

    Example:
        >>> rose([0.5, 0.4, 1.3, 2.0, 1.5, 3.0, 4.0], 1.0, 12), rose([0.5, 0.4, 1.3, 0.7, 1.5, 3.0, 4.0], 1.0, 12)
        (True, False)
    """
    last = 1 if len(losses) == epochs else max(5, epochs // 3)
    known = [x for x in losses if not math.isnan(x)]
    bound = max(2 * min(known, default=math.inf), constant)
    return bool(known) and len(losses) > last and not any(x <= bound for x in losses[-last:])


class _Loop:
    """One network in training: what all steps share, and what a step does."""

    def __init__(
        self, net: nn.Module, task: Task, examples: Examples, recipe: Recipe, seed: int, execution: Execution
    ) -> None:
        check_monitor(task, recipe.training.monitor)
        self.net, self.task, self.examples, self.recipe = net, task, examples, recipe
        fabric = execution.machine.launch()
        self.seed, self.fabric, self.folder = seed, fabric, execution.folder
        self.half = execution.machine.precision == "16-mixed"
        self.first = fabric.global_rank == 0
        size, place = recipe.training.batch_size, (fabric.global_rank, fabric.world_size)
        prepare = getattr(net, "prepare", None)
        how: dict[str, Any] = {"prepare": prepare, "per": task.per}
        self.batches = Batches(examples.graphs, examples.train, size, seed, *place, **how)
        self.held = Batches(examples.graphs, examples.validation, size, None, *place, **how)
        self.epochs, self.patience = recipe.training.passes(len(self.batches))
        self.steps = self.epochs * len(self.batches)
        self.norms = [m for m in net.modules() if isinstance(m, BatchNorm)]
        self.y = torch.from_numpy(task.encode(np.asarray(examples.targets))).to(fabric.device)
        bounds, weights = examples.bounds, examples.item_weights()
        self.bounds = None if bounds is None else torch.from_numpy(task.encode_bounds(bounds)).to(fabric.device)
        self.weights = None if weights is None else torch.from_numpy(weights).to(fabric.device)
        self.y_held = self.y[torch.from_numpy(examples.items(self.held.rows)).to(fabric.device)]
        # Of the training mean, or of equal probabilities.
        self.constant = _mean(*task.losses(self.y.new_zeros(len(self.y_held), task.outputs), self.y_held))
        self.bare_optimiser = make_optimiser(net, recipe.optimiser)
        self.model, self.optimiser = fabric.setup(net, self.bare_optimiser)
        self.name = "" if self.folder is None else _fingerprint(net, task, examples, recipe, seed)

    def epoch(self, progress: Progress) -> Iterator[None]:
        """The remaining steps of an epoch; yields after each."""
        fabric, opt, world = self.fabric, self.optimiser, self.fabric.world_size
        self.model.train()
        for b, rows in self.batches.epoch(progress.epoch, progress.batch):
            _set_seed(self.seed, progress.step, fabric)
            set_rate(self.bare_optimiser, rate(self.recipe.optimiser, progress.step, self.steps))
            index = torch.from_numpy(self.examples.items(rows)).to(fabric.device)
            for layer in self.norms:
                layer.counts = len(rows) > 0
            with fabric.autocast():  # else Fabric rounds outputs in float64 to the usual type
                out = self.model(b.to(fabric.device))[: len(index)]
            weights, bounds = (None if a is None else a[index] for a in (self.weights, self.bounds))
            total, weight = self.task.losses(out, self.y[index], weights, bounds)
            everywhere: Any = fabric.all_reduce(weight.clone(), reduce_op="sum")
            opt.zero_grad()
            loss = total * world / torch.where(everywhere > 0, everywhere, 1.0)
            if self.recipe.optimiser.contraction_penalty:
                loss = loss + self.recipe.optimiser.contraction_penalty * contraction_penalty(self.net)
            fabric.backward(loss)
            largest = self.recipe.optimiser.clip or math.inf
            norm = fabric.clip_gradients(self.model, opt, max_norm=largest, error_if_nonfinite=False)
            self.check_finite(total.detach(), norm, progress)
            opt.step()
            progress.loss, progress.weight = progress.loss + total.item(), progress.weight + weight.item()
            progress.batch, progress.step = progress.batch + 1, progress.step + 1
            yield

    def close_epoch(self, progress: Progress) -> dict[str, float]:
        """Evaluate the epoch and add its row to the history; begin the next epoch, or end the run."""
        settings = self.recipe.training
        row = self.evaluate(progress)
        progress.history.append(row)
        watched = settings.monitor
        if watched != "loss" and math.isnan(row.get(f"validation_{watched}", 0.0)):
            watched = "loss"  # the metric is undefined on the validation part, in every epoch
        value = row.get(f"validation_{watched}", math.nan)
        this = None if math.isnan(value) else value, progress.epoch
        if not len(self.held) or progress.epoch == 0 or better(watched, value, progress.best):
            progress.best, progress.best_epoch = this
        progress.epoch, progress.batch, progress.loss, progress.weight = progress.epoch + 1, 0, 0.0, 0.0
        if progress.epoch >= self.epochs:
            progress.ended = "epochs"
        elif self.patience and settings.keep == "best" and progress.epoch - 1 - progress.best_epoch >= self.patience:
            progress.ended = "patience"
        losses = [row["validation_loss"] for row in progress.history if "validation_loss" in row]
        if settings.rising == "stop" and rose(losses, self.constant, self.epochs):
            progress.ended = ROSE
        if progress.ended == "epochs" and settings.keep == "last":
            progress.best, progress.best_epoch = this
        return row

    def evaluate(self, progress: Progress) -> dict[str, float]:
        """Loss of the epoch, and loss and metrics on the validation part."""
        fabric = self.fabric
        sums: Any = fabric.all_reduce(
            torch.tensor([progress.loss, progress.weight], dtype=torch.float64, device=fabric.device), reduce_op="sum"
        )
        row = {
            "epoch": progress.epoch + 1,
            "step": progress.step,
            "learning_rate": rate(self.recipe.optimiser, progress.step - 1, self.steps),
            "train_loss": _mean(*sums),
        }
        if len(self.held):
            if fabric.world_size > 1:  # third-party layers have running statistics per process
                for buffer in self.net.buffers():
                    if buffer.is_floating_point():
                        fabric.all_reduce(buffer, reduce_op="mean")
            with fabric.autocast():
                out: Any = fabric.all_reduce(outputs(self.net, self.held).double(), reduce_op="sum")
            total, weight = self.task.losses(out, self.y_held)
            self.check_finite(total, None, progress)
            row["validation_loss"] = _mean(total, weight)
            measured = metrics(self.task, self.examples.targets[self.held.rows], self.task.decode(out))
            row |= {f"validation_{name}": value for name, value in measured.items()}
        return row | {"seconds": progress.seconds}

    def check_finite(self, total: Tensor, norm: Tensor | None, progress: Progress) -> None:
        """Stop before the weights become invalid; all processes see the same gradient, so that all stop."""
        # In half precision the gradient scaler skips steps with gradients that are too large.
        if (norm is None or self.half or bool(norm.isfinite())) and bool(total.isfinite()):
            return
        older = "" if self.folder is None else f" The checkpoints in {self.folder} are older and intact."
        raise TrainingError(
            f"epoch {progress.epoch}, batch {progress.batch}, step {progress.step}: the loss is {float(total):g} and "
            f"the norm of the gradient {math.nan if norm is None else float(norm):g}, at a learning rate of "
            f"{rate(self.recipe.optimiser, progress.step, self.steps):g}.{older} Try a smaller learning rate, clip=1.0 "
            "or norm='batch', and look for extreme values among features and targets"
        )

    def begin(self, resume: bool) -> tuple[Progress, dict[str, Tensor]]:
        """A new run, or that of the newest intact checkpoint in the folder."""
        if self.folder is None:
            return Progress(), {}
        self.folder.mkdir(parents=True, exist_ok=True)
        if not resume and checkpoint.files(self.folder):
            raise FileError(f"{self.folder}: there is a run already; resume it, or choose another folder")
        found = checkpoint.load(self.folder, self.net, self.bare_optimiser, self.name) if resume else None
        progress, best = found or (Progress(), {})
        if self.first and progress.history:
            # Epochs after the last checkpoint of a killed run are repeated.
            write_history(self.folder / "history.csv", progress.history)
        elif self.first:
            (self.folder / "history.csv").unlink(missing_ok=True)
        return progress, best


def _mean(total: Tensor, weight: Tensor) -> float:
    """The mean loss; zero without any known target."""
    return float(total) / (float(weight) or 1.0)


def _resumed(progress: Progress, epochs: int) -> str:
    """Where a resumed run continues."""
    if not progress.step:
        return "no checkpoint to resume from, training starts from the beginning"
    if progress.ended:
        return f"already trained for {progress.epoch} epochs"
    return f"resumed at epoch {progress.epoch + 1} of {epochs}, after {progress.step:,} steps"


def _line(row: Mapping[str, float], epochs: int) -> str:
    named = {"loss": "loss", "mae": "MAE", "accuracy": "accuracy"}
    held = [f"{name} {row[f'validation_{key}']:.4g}" for key, name in named.items() if f"validation_{key}" in row]
    shown = f"; validation {', '.join(held)}" if held else ""
    return f"epoch {row['epoch']:.0f} of {epochs}: loss {row['train_loss']:.4g}{shown}"


def _set_seed(seed: int, step: int, fabric: Fabric) -> None:
    """Seed the random numbers of a step on this process.

    On a CPU only the CPU's generator is seeded: ``torch.manual_seed`` also prepares for other devices, which takes
    longer than a small layer.
    """
    number = int(np.random.SeedSequence([seed, step, fabric.global_rank]).generate_state(1)[0])
    if fabric.device.type == "cpu":
        torch.default_generator.manual_seed(number)
    else:
        torch.manual_seed(number)


def _fingerprint(net: nn.Module, task: Task, examples: Examples, recipe: Recipe, seed: int) -> str:
    """Identifies a run by its settings and data; initial weights follow from the seed."""
    shapes = {k: tuple(v.shape) for k, v in net.state_dict().items()}
    text = re.sub(r" at 0x[0-9a-f]+", "", repr((shapes, task, recipe, seed)))
    parts = (examples.train, examples.validation, examples.weights, examples.bounds)
    data = fingerprint(examples.graphs, np.asarray(examples.targets), *parts)
    return digest(text, data)

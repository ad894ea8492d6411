"""How a fit is executed, apart from what it learns: devices, checkpoints, limits, progress."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ccn.training.machine import Machine

__all__ = ["Execution"]


@dataclass(frozen=True)
class Execution:
    """How a fit is executed.

    Attributes:
        machine: devices and processes.
        folder: where checkpoints and histories go, one folder per network; without one nothing is written.
        resume: resume from the newest intact checkpoint of the folder, if there is one.
        every: seconds between checkpoints; the last epoch always writes one.
        time_limit: seconds of training for all networks together, after which the best so far is kept.
        tensorboard: also write a TensorBoard log into the folder.
        verbose: show a progress bar.
        watch: is given the row of every epoch, and may end the fit by an error of its own.
        begin: called once all settings have been checked, before anything is learned or written.

    """

    machine: Machine = field(default_factory=Machine)
    folder: Path | None = None
    resume: bool = False
    every: float = 30.0
    time_limit: float | None = None
    tensorboard: bool = False
    verbose: bool = False
    watch: Callable[[Mapping[str, float]], None] | None = None
    begin: Callable[[], None] = lambda: None

    def part(self, name: str, time_limit: float | None) -> Execution:
        """The same for one network: a folder of its own, and its share of the time."""
        return replace(self, folder=None if self.folder is None else self.folder / name, time_limit=time_limit)

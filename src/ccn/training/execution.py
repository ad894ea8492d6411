"""How a fit is executed, apart from what it learns: devices and processes, checkpoints, limits, progress."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ccn.errors import ConfigurationError
from ccn.progress import log
from ccn.settings import Checked, setting

if TYPE_CHECKING:
    import torch
    from lightning_fabric import Fabric

__all__ = ["Execution", "Machine", "is_first", "torch_device", "torch_threads"]

_MOST_THREADS = 4096


@dataclass(frozen=True)
class Machine(Checked):
    """Devices, precision and processes, as Lightning Fabric names them.

    ``torchrun`` and SLURM may start the processes too. The strategy must not shard the weights.
    """

    device: str = setting("cpu", "cpu, cuda, mps or auto.")
    devices: int = setting(1, "Processes per node.", least=-1)
    nodes: int = setting(1, "Number of nodes.", least=1)
    strategy: str = setting("auto", "Distributed strategy: auto or ddp.")
    precision: str = setting("32-true", "32-true, 64-true, bf16-mixed or 16-mixed.")

    def check(self) -> Fabric:
        """Fabric, not launched; an error if this machine does not have what is asked for."""
        import lightning_fabric

        _check_device(self.device)
        if self.strategy.endswith(("_spawn", "_fork", "_notebook")):
            raise ConfigurationError(f"strategy={self.strategy!r}: a fit cannot continue in such processes; use ddp")
        try:
            return lightning_fabric.Fabric(
                accelerator=self.device,
                devices=self.devices,
                num_nodes=self.nodes,
                strategy=self.strategy,
                precision=self.precision,  # type: ignore[arg-type]  # Fabric checks the name
            )
        except (RuntimeError, TypeError, ValueError) as error:
            asked = ", ".join(f"{f.name}={v!r}" for f in fields(self) if (v := getattr(self, f.name)) != f.default)
            raise ConfigurationError(f"{asked}: unavailable on this machine ({error})") from None

    def launch(self) -> Fabric:
        """Fabric, launched: from here on there may be several processes."""
        made = self.check()
        made.launch()
        return made


@dataclass(frozen=True)
class Execution:
    """How a fit is executed.

    Attributes:
        machine: devices and processes.
        folder: where checkpoints and histories go, one folder per network; without one nothing is written.
        resume: resume from the newest intact checkpoint of the folder, if there is one.
        every: seconds between checkpoints; the last epoch always writes one.
        first: seconds until the first checkpoint, unless ``every`` is less.
        time_limit: seconds of training for all networks together, after which the best so far is kept.
        client: of a Dask cluster that fits of several members run on, if any (:func:`ccn.runs.workers.connected`).
        tensorboard: also write a TensorBoard log into the folder.
        verbose: show a progress bar.
        watch: called with the row of every epoch; an error that it raises ends the fit.
        begin: called once all settings have been checked, before anything is learned or written.
        say: called with a line about the fit: where a resumed run continues, why one stopped, what to be wary of.

    Example:
        >>> Execution(time_limit=60.0, verbose=True).machine.device
        'cpu'
    """

    machine: Machine = field(default_factory=Machine)
    folder: Path | None = None
    resume: bool = False
    every: float = 30.0
    first: float = 10.0
    time_limit: float | None = None
    client: Any = None
    tensorboard: bool = False
    verbose: bool = False
    watch: Callable[[Mapping[str, float]], None] | None = None
    begin: Callable[[], None] = lambda: None
    say: Callable[[str], None] = log

    def part(self, name: str, time_limit: float | None) -> Execution:
        """The same for one network: a subfolder, and its share of the time."""
        return replace(self, folder=None if self.folder is None else self.folder / name, time_limit=time_limit)


def torch_device(name: str) -> torch.device:
    """The device of that name; ``auto`` is an accelerator if there is one."""
    import torch

    if name == "auto":
        name = _available()[-1]
    _check_device(name)
    try:
        return torch.device(name)
    except RuntimeError:
        raise ConfigurationError(
            f"device={name!r}: PyTorch does not know it; available are {', '.join(_available())}"
        ) from None


def _check_device(name: str) -> None:
    kind = name.partition(":")[0]
    if kind in ("cuda", "mps") and kind not in _available():
        raise ConfigurationError(
            f"device={name!r}: unavailable on this machine; available are {', '.join(_available())}"
        )


def _available() -> list[str]:
    """Kinds of devices, the preferred one last."""
    import torch

    there = {"cpu": True, "mps": torch.backends.mps.is_available(), "cuda": torch.cuda.is_available()}
    return [kind for kind, available in there.items() if available]


@contextmanager
def torch_threads(count: int | None) -> Iterator[None]:
    """Set the number of torch's threads, -1 for all cores, and restore it; None changes nothing."""
    import joblib
    import torch

    if count is not None and (count == 0 or abs(count) > _MOST_THREADS):
        raise ConfigurationError(f"threads={count}: give 1 to {_MOST_THREADS}, or -1 for all cores")
    before = torch.get_num_threads()
    if count is not None:
        torch.set_num_threads(joblib.effective_n_jobs(count))
    try:
        yield
    finally:
        if count is not None:
            torch.set_num_threads(before)


def is_first() -> bool:
    """Whether this process is the one that writes, by the variables that torchrun, SLURM and Fabric set."""
    ranks = (os.environ.get(name) for name in ("RANK", "LOCAL_RANK", "SLURM_PROCID"))
    return int(next((r for r in ranks if r is not None), "0")) == 0

"""Where a network is trained: devices, precision and processes, all of it supplied by Lightning Fabric."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ccn.errors import ConfigurationError
from ccn.settings import setting

if TYPE_CHECKING:
    import torch
    from lightning_fabric import Fabric

__all__ = ["Machine", "check_device", "is_first", "keep_memory", "torch_device", "torch_threads"]


@dataclass(frozen=True)
class Machine:
    """Devices and processes, in Fabric's terms.

    ``torchrun`` and SLURM may start the processes too. The strategy must not shard the weights.
    """

    device: str = setting("cpu", "cpu, cuda, mps or auto.")
    devices: int = setting(1, "Processes per node.")
    nodes: int = setting(1, "Number of nodes.")
    strategy: str = setting("auto", "Distributed strategy: auto, ddp, ddp_spawn.")
    precision: str = setting("32-true", "32-true, 64-true, bf16-mixed or 16-mixed.")

    def fabric(self) -> Fabric:
        """Fabric, launched: from here on there may be several processes."""
        made = self._made()
        made.launch()
        return made

    def check(self) -> None:
        """An error if this machine has not what is asked for."""
        self._made()

    def _made(self) -> Fabric:
        import lightning_fabric

        check_device(self.device)
        try:
            return lightning_fabric.Fabric(
                accelerator=self.device,
                devices=self.devices,
                num_nodes=self.nodes,
                strategy=self.strategy,
                precision=self.precision,  # type: ignore[arg-type]  # Fabric checks the name
            )
        except (RuntimeError, ValueError) as error:
            raise ConfigurationError(f"{self}: not to be had here ({error})") from None


def check_device(name: str) -> None:
    """An error if the device is one for which this machine has not the hardware, or PyTorch not the support."""
    there = _there()
    if not there.get(name.partition(":")[0], True):
        raise ConfigurationError(f"device {name}: PyTorch finds none on this machine; what it finds is {_usable()}")


def torch_device(name: str) -> torch.device:
    """The device of that name; ``auto`` is an accelerator if there is one."""
    import torch

    if name == "auto":
        name = next(kind for kind in ("cuda", "mps", "cpu") if _there()[kind])
    check_device(name)
    try:
        return torch.device(name)
    except RuntimeError:
        raise ConfigurationError(
            f"device {name}: PyTorch knows none of that name; what it finds is {_usable()}"
        ) from None


def _there() -> dict[str, bool]:
    import torch

    return {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}


def _usable() -> str:
    return ", ".join(kind for kind, is_there in _there().items() if is_there)


@contextmanager
def torch_threads(count: int | None) -> Iterator[None]:
    """So many threads for torch, -1 for all cores, and afterwards as many as before; None changes nothing."""
    import torch

    if count is None:
        yield
        return
    import joblib

    before = torch.get_num_threads()
    torch.set_num_threads(joblib.effective_n_jobs(count))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def is_first() -> bool:
    """Whether this process is the one that writes and speaks; told by what torchrun, SLURM and Fabric leave behind."""
    ranks = (os.environ.get(name) for name in ("RANK", "LOCAL_RANK", "SLURM_PROCID"))
    return int(next((r for r in ranks if r is not None), "0")) == 0


def keep_memory() -> None:
    """Let the C library keep what is freed, up to half a gigabyte, for the next step: fresh memory costs a fault of
    the processor for every page, of which a training step makes thousands. Where it is not GNU's, nothing is done.

    For processes that train and do nothing else.
    """
    import ctypes

    trim, mapped = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of malloc.h
    try:
        library = ctypes.CDLL("libc.so.6")
        library.mallopt(trim, 1 << 29)
        library.mallopt(mapped, 1 << 28)
    except (OSError, AttributeError):
        return

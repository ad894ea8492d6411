"""Where a network is trained: devices, precision and processes, all of it supplied by Lightning Fabric."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lightning_fabric import Fabric

__all__ = ["Machine", "is_first", "keep_memory"]


@dataclass(frozen=True)
class Machine:
    """Devices and processes, in Fabric's words.

    Attributes:
        device: ``cpu``, ``cuda``, ``mps`` or ``auto``.
        devices: processes of each node; ``torchrun`` and SLURM may start them too.
        nodes: machines.
        strategy: ``auto``, ``ddp``, ``ddp_spawn``, ..; the weights must be whole on every process.
        precision: ``32-true``, ``64-true``, ``bf16-mixed``, ``16-mixed``.

    """

    device: str = "cpu"
    devices: int = 1
    nodes: int = 1
    strategy: str = "auto"
    precision: str = "32-true"

    def fabric(self) -> Fabric:
        """Fabric, launched: from here on there may be several processes."""
        import lightning_fabric

        made = lightning_fabric.Fabric(
            accelerator=self.device,
            devices=self.devices,
            num_nodes=self.nodes,
            strategy=self.strategy,
            precision=self.precision,  # type: ignore[arg-type]  # Fabric checks the name
        )
        made.launch()
        return made


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

"""Running a trained network over batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ccn.training.batches import Batches

__all__ = ["outputs"]


def outputs(net: nn.Module, batches: Batches, read: Callable[[Any], Tensor] | None = None) -> Tensor:
    """(rows, outputs) for the rows of ``batches``, in their order; zero where another process has the row.

    ``read`` is what the batch is given to: by default the network, or for example its ``embed``.
    """
    device = next(net.parameters()).device
    place = {int(row): i for i, row in enumerate(batches.rows)}
    was = net.training
    net.eval()
    found: Tensor | None = None
    try:
        with torch.no_grad():
            for b, rows in batches:
                part = (read or net)(b.to(device))[: len(rows)]
                if found is None:
                    found = part.new_zeros(len(batches.rows), part.shape[1])
                found[[place[int(r)] for r in rows]] = part
    finally:
        net.train(was)
    return torch.zeros(0, 0) if found is None else found

"""The weights of a layer as the matrices that mix channels."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from ccn.engine.backend import plain_tensors
from ccn.engine.plan import Plan
from ccn.graphs.ragged import Int, starts

__all__ = ["mixing", "mixing_gradient"]


@lru_cache(maxsize=256)
@plain_tensors()
def _places(plan: Plan, out: int, width: int, device: torch.device) -> tuple[Tensor, Tensor, int]:
    """For each number of W that counts: its place in W, its place among all mixing matrices, and how long these are."""
    o, w = np.arange(out), np.arange(width)[:, None]
    start = starts([(stage.end - stage.first) * len(stage.slots) for stage in plan.stages]) * width * out
    source, place = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for i, cell in enumerate(plan.cells):
        if cell is not None:
            s, r, slot = cell
            source.append((o * len(plan.cells) + i) * width + w)
            place.append(start[s] + ((r * width + w) * len(plan.stages[s].slots) + slot) * out + o)

    def joined(numbers: list[Int]) -> Tensor:
        return torch.from_numpy(np.concatenate([x.reshape(-1) for x in numbers])).to(device)

    return joined(source), joined(place), int(start[-1])


def mixing(plan: Plan, weight: Tensor) -> Tensor:
    """W (out, contractions, in) as the matrices of all stages, (reductions * in, slots * out) each, one after another.

    Contractions that are equal for the class of A add up in one cell, those that are zero in none. Differentiable.
    """
    source, place, length = _places(plan, weight.shape[0], weight.shape[2], weight.device)
    return weight.new_zeros(length).index_add(0, place, weight.reshape(-1).index_select(0, source))


def mixing_gradient(plan: Plan, g: Tensor, weight: Tensor) -> Tensor:
    """The gradient of W from that of the matrices of all stages."""
    source, place, _ = _places(plan, weight.shape[0], weight.shape[2], weight.device)
    return g.new_zeros(weight.numel()).index_add(0, source, g.index_select(0, place)).view(weight.shape)

"""Optimisers of a recipe, with a learning rate that is a function of the step alone."""

from __future__ import annotations

from math import cos, pi
from typing import Any

import torch
from torch import Tensor, nn

from ccn.layers.aggregation import Aggregation
from ccn.training.recipe import Optimiser

__all__ = ["contraction_penalty", "make_optimiser", "rate", "set_rate", "step_scales"]


def make_optimiser(net: nn.Module, o: Optimiser) -> torch.optim.Optimizer:
    """The optimiser of a recipe for the network's parameters; biases and gains do not decay."""
    groups: list[dict[str, Any]] = [
        {"params": [p for p in net.parameters() if p.ndim > 1], "weight_decay": o.weight_decay},
        {"params": [p for p in net.parameters() if p.ndim <= 1], "weight_decay": 0.0},
    ]
    made: torch.optim.Optimizer
    if o.method == "sgd":
        made = torch.optim.SGD(groups, lr=rate(o, 0, 1), momentum=o.momentum)
    else:
        made = torch.optim.AdamW(groups, lr=rate(o, 0, 1))
    if o.scaled:
        _scale_steps(made, step_scales(net))
    return made


def step_scales(net: nn.Module) -> dict[nn.Parameter, Tensor]:
    """For the weights (out, contractions, in) of each layer the factor (contractions, 1) of its steps.

    The initial weights of a contraction are divided by the RMS s of what it sums (`Aggregation.reset_parameters`).
    The length of Adam's steps is the learning rate, whatever the gradient; multiplied by 1/s, a step changes the output
    of the layer by the same amount for every contraction, as if w = v / s were trained in v.
    """
    found: dict[nn.Parameter, Tensor] = {}
    for layer in (m for m in net.modules() if isinstance(m, Aggregation)):
        for weight, maps in ((layer.weight, layer.contractions), (layer.weight_free, layer.contractions_free)):
            if weight is not None and maps:
                s = layer.scales(maps)
                found[weight] = torch.tensor([min(1.0, 1 / x) if x > 0 else 1.0 for x in s])[:, None]
    return found


def contraction_penalty(net: nn.Module) -> Tensor:
    """The sum over all contractions j of all layers of ``s_j |W_j|``, a group lasso over the contraction axis.

    s_j is what the contraction sums (:mod:`ccn.layers.initialisation`), so that ``s_j |W_j|`` is how strongly it enters
    the output of its layer (:meth:`ccn.layers.Aggregation.strengths`).
    """
    parts = [m.strengths() for m in net.modules() if isinstance(m, Aggregation)]
    return torch.cat(parts).sum() if parts else torch.zeros(())


def _scale_steps(optimiser: torch.optim.Optimizer, factors: dict[nn.Parameter, Tensor]) -> None:
    """Multiply every step of some parameters by a factor, weight by weight."""
    before: dict[nn.Parameter, Tensor] = {}

    def keep(*_: Any) -> None:
        before.update({p: p.detach().clone() for p in factors})

    def shorten(*_: Any) -> None:
        with torch.no_grad():
            for p, factor in factors.items():
                p.copy_(torch.lerp(before[p], p, factor.to(p)))

    optimiser.register_step_pre_hook(keep)
    optimiser.register_step_post_hook(shorten)


def rate(o: Optimiser, step: int, steps: int) -> float:
    """The learning rate of a step of ``steps``: warm-up, then decay to the final rate at the last step."""
    peak, warm = o.learning_rate, round(o.warmup * steps)
    assert peak != "auto", "Recipe.for_task has a rate for the task"
    if step < warm:
        return peak * (step + 1) / warm
    if o.schedule == "constant":
        return peak
    done = (step - warm) / max(1, steps - 1 - warm)
    left = 1 - done if o.schedule == "linear" else (1 + cos(pi * done)) / 2
    return o.final_rate + (peak - o.final_rate) * left


def set_rate(optimiser: torch.optim.Optimizer, value: float) -> None:
    """Set the rate of every group."""
    for group in optimiser.param_groups:
        group["lr"] = value

from __future__ import annotations

from dataclasses import fields
from typing import get_args

from ccn.learning.settings import Features, Loss
from ccn.learning.task import make_task


def test_every_field_has_its_help() -> None:
    assert all(f.metadata["help"].endswith(".") for f in fields(Features))
    assert Features().molecules == "atoms"


def test_every_loss_is_one_of_the_task() -> None:
    import numpy as np
    import torch

    for loss in get_args(Loss):
        task = make_task(np.array([[0.0], [1.0]]), classification=False, names=["y"], loss=loss)
        total, weight = task.losses(torch.zeros(1, 1), torch.ones(1, 1))
        assert (float(total) > 0, float(weight)) == (True, 1.0)

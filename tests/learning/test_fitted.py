from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from ccn.errors import ConfigurationError
from ccn.learning.fitted import Fitted, as_arrays, as_tensors
from ccn.learning.inputs import Inputs
from ccn.learning.task import Task


class Constant(Fitted):
    """What a method that needs no more than the interface has."""

    def predict(self, graphs: Any) -> Any:
        return np.zeros((1, len(graphs), 1))

    def state(self) -> Any:
        return {}, {}

    @classmethod
    def from_state(cls, tensors: Any, data: Any, task: Task, inputs: Inputs) -> Any:
        return cls(task, inputs)


def test_a_method_without_an_embedding_or_a_device_says_so() -> None:
    made = Constant(Task("regression", ("y",)), Inputs())
    assert (made.embedding_width, made.device) == (0, "cpu")
    made.to(torch.device("cpu"))
    with pytest.raises(ConfigurationError, match="embedding"):
        made.embed([])  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="cuda"):
        made.to(torch.device("cuda"))


def test_arrays_come_back_from_tensors() -> None:
    arrays = {"a": np.arange(3.0), "names": np.array([2**64 - 1, 5], dtype=np.uint64)}
    back = as_arrays({**as_tensors(arrays, "x."), "other": torch.zeros(1)}, "x.")
    assert back.keys() == arrays.keys()
    np.testing.assert_array_equal(back["a"], arrays["a"])
    np.testing.assert_array_equal(back["names"].view(np.uint64), arrays["names"])

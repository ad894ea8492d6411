"""Losses against their definition, with missing targets and weights, and the way back to values."""

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from ccn.errors import ConfigurationError
from ccn.learning.task import Task, make_task

NAN = float("nan")


def test_a_regression_is_scaled_by_the_training_part_and_masked() -> None:
    y = np.array([[1.0, NAN], [3.0, 10.0], [NAN, 30.0]])
    task = make_task(y, classification=False, names=["a", "b"])
    assert task.scale is not None
    assert task.scale.mean == (2.0, 20.0)
    encoded = torch.from_numpy(task.encode(y))
    out = torch.randn(3, 2, dtype=torch.float64)
    total, weight = task.losses(out, encoded)
    there = ~encoded.isnan()
    assert float(weight) == 4
    assert float(total) == pytest.approx(float(((out - encoded)[there] ** 2).sum()))
    np.testing.assert_allclose(task.decode(encoded)[there.numpy()], y[~np.isnan(y)])
    weighted, w = task.losses(out, encoded, torch.tensor([2.0, 0.0, 1.0]))
    assert float(w) == 3
    assert float(weighted) == pytest.approx(float(2 * (out - encoded)[0, 0] ** 2 + (out - encoded)[2, 1] ** 2))


@pytest.mark.parametrize(("loss", "of"), [("mae", F.l1_loss), ("huber", F.smooth_l1_loss)])
def test_other_losses_of_regression(loss: str, of: object) -> None:
    y = np.array([[0.0], [4.0]])
    task = make_task(y, classification=False, names=["a"], loss=loss)  # type: ignore[arg-type]
    out = torch.tensor([[0.3], [5.0]], dtype=torch.float64)
    total, _ = task.losses(out, torch.from_numpy(task.encode(y)))
    assert float(total) == pytest.approx(float(of(out, torch.tensor([[-1.0], [1.0]]).double(), reduction="sum")))  # type: ignore[operator]


def test_gradients_of_missing_targets_are_zero() -> None:
    task = make_task(np.array([[1.0], [2.0]]), classification=False, names=["a"])
    out = torch.zeros(2, 1, requires_grad=True)
    task.losses(out, torch.tensor([[NAN], [0.5]]))[0].backward()
    assert out.grad is not None
    assert out.grad[:, 0].tolist() == [0.0, -1.0]


def test_classes_have_cross_entropy_and_weights() -> None:
    y = np.array([[0.0], [1.0], [2.0], [2.0], [NAN]])
    task = make_task(y, classification=True, names=["c"], classes=["x", "y", "z"], class_weight="balanced")
    assert (task.kind, task.outputs) == ("multiclass", 3)
    assert task.class_weights == pytest.approx((4 / 3, 4 / 3, 2 / 3))
    out = torch.randn(5, 3)
    total, weight = task.losses(out, torch.from_numpy(y))
    of = torch.tensor(task.class_weights)
    expected = F.cross_entropy(out[:4], torch.tensor([0, 1, 2, 2]), weight=of)
    assert float(total / weight) == pytest.approx(float(expected), rel=1e-5)
    np.testing.assert_allclose(task.decode(out).sum(1), 1)


def test_binary_and_several_labels() -> None:
    two = make_task(np.array([[0.0], [1.0]]), classification=True, names=["c"], classes=[0, 1], class_weight={1: 3.0})
    assert (two.kind, two.outputs, two.class_weights) == ("binary", 1, (1.0, 3.0))
    total, weight = two.losses(torch.zeros(2, 1), torch.tensor([[0.0], [1.0]]))
    assert float(weight) == 4
    assert float(total / weight) == pytest.approx(np.log(2))
    assert two.decode(torch.zeros(1, 1)).tolist() == [[0.5, 0.5]]
    y = np.array([[1.0, 0.0], [NAN, 1.0], [0.0, 0.0]])
    many = make_task(y, classification=True, names=["p", "q"], classes=[0, 1], class_weight="balanced")
    assert (many.kind, many.outputs, many.class_weights) == ("multilabel", 2, (1.0, 2.0))
    assert float(many.losses(torch.zeros(3, 2), torch.from_numpy(y))[1]) == 6
    assert many.decode(torch.zeros(3, 2)).shape == (3, 2)


def test_what_cannot_be_learned_is_named() -> None:
    with pytest.raises(ConfigurationError, match="'b'"):
        make_task(np.array([[1.0, NAN]]), classification=False, names=["a", "b"])
    with pytest.raises(ConfigurationError, match=r"class_weight .*'w'"):
        make_task(np.array([[0.0], [1.0]]), classification=True, names=["c"], classes=["x", "y"], class_weight={"w": 2})
    with pytest.raises(ConfigurationError, match="class_weight"):
        make_task(np.array([[1.0]]), classification=False, names=["a"], class_weight="balanced")


def test_a_task_survives_plain_data() -> None:
    task = make_task(np.array([[1.0], [2.0]]), classification=False, names=["a"], loss="mae")
    assert Task.from_dict(task.to_dict()) == task
    task = make_task(np.array([[0.0], [1.0]]), classification=True, names=["c"], classes=["x", "y"])
    assert Task.from_dict(task.to_dict()) == task


@pytest.mark.parametrize("loss", ["mse", "mae", "huber"])
def test_a_bound_costs_nothing_where_it_is_met(loss: Any) -> None:
    targets = np.array([[0.0], [2.0], [np.nan], [np.nan], [np.nan]])
    task = make_task(targets, classification=False, names=["y"], loss=loss)  # mean 1, deviation 1
    bounds = np.full((5, 1, 2), np.nan)
    bounds[2], bounds[3] = (3.0, np.inf), (-np.inf, 3.0)
    encoded = torch.from_numpy(task.encode_bounds(bounds))
    assert encoded[2:4, 0].tolist() == [[2.0, np.inf], [-np.inf, 2.0]]
    y = torch.from_numpy(task.encode(targets))
    for output, fault in ((0.5, [2]), (2.0, []), (4.0, [3])):
        out = torch.tensor([[-1.0], [1.0], [output], [output], [output]], dtype=torch.float64, requires_grad=True)
        total, weight = task.losses(out, y, bounds=encoded)
        total.backward()
        assert weight == 4  # two exact values and two bounds; the last row has neither
        assert out.grad is not None
        assert out.grad.flatten().nonzero().flatten().tolist() == fault
        as_exact = task.losses(torch.tensor([[output]]), torch.tensor([[2.0]]))[0] if fault else 0.0
        assert total.item() == pytest.approx(float(as_exact))


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_classes_of_several_targets_are_refused(kind: Any) -> None:
    held = Task(kind, ("a",), classes=("x", "y")).to_dict()
    assert Task.from_dict(held).targets == ("a",)
    with pytest.raises(ConfigurationError, match="'b'"):
        Task.from_dict({**held, "targets": ["a", "b"]})

"""What is doubtful about predictions, and what is not."""

from __future__ import annotations

import numpy as np
import pytest

from ccn.errors import TrainingError
from ccn.learning.doubts import check_finite, doubts, tails
from ccn.learning.task import Floats, make_task

RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(5.0, 2.0, (40, 2))
NUMBER = make_task(NUMBERS, classification=False, names=("a", "b"))


def test_constant_and_diverged_numbers() -> None:
    assert doubts(NUMBER, NUMBERS, NUMBERS + RNG.normal(size=NUMBERS.shape), "validation") == []
    bad = np.stack([np.full(40, 5.0), 10 * NUMBERS[:, 1]], axis=1)
    constant, diverged = doubts(NUMBER, NUMBERS, bad, "validation")
    for line, facts in ((constant, ("a:", "40 validation", "all", "5")), (diverged, ("b:", "R2"))):
        for fact in (*facts, "--epochs", "--learning-rate", "--target-scale auto"):
            assert fact in line
    missing = NUMBERS.copy()
    missing[6:] = np.nan
    assert len(doubts(NUMBER, missing, bad, "training")) == 1  # six rows do not tell R2
    assert doubts(NUMBER, np.ones((40, 2)), bad, "training") == []  # no variation to learn
    missing[3:] = np.nan
    assert doubts(NUMBER, missing, bad, "training") == []  # nor whether all predictions are equal


def test_what_is_not_finite_is_an_error() -> None:
    check_finite(NUMBERS, "validation")
    for value in (np.nan, np.inf):
        bad = NUMBERS.copy()
        bad[[3, 5], 1] = value
        with pytest.raises(TrainingError, match=r"2 of 40 validation rows .* --learning-rate"):
            check_finite(bad, "validation")


def _classes(kind: str, share: float = 0.1, weight: str | None = None) -> tuple[list[str], Floats]:
    y = (np.arange(40) < 40 * share).astype(float)[:, None]
    y = np.repeat(y, 2, axis=1) if kind == "multilabel" else y
    classes = ("no", "yes", "maybe") if kind == "multiclass" else ("no", "yes")
    task = make_task(y, classification=True, names=("a", "b")[: y.shape[1]], classes=classes, class_weight=weight)
    assert task.kind == kind
    p = np.full((40, 2 if kind == "multilabel" else len(classes)), 0.1)
    p[:, 0] = 0.9
    return doubts(task, y, p, "validation"), y


@pytest.mark.parametrize(("kind", "named"), [("binary", "no"), ("multiclass", "no"), ("multilabel", "yes")])
def test_one_class_for_all(kind: str, named: str) -> None:
    found, _ = _classes(kind)
    assert len(found) == (2 if kind == "multilabel" else 1)
    assert f"the class {named} " in found[0]
    assert "--class-weight balanced" in found[0]
    assert _classes(kind, share=0.0)[0] == []  # there is one class only


def test_a_remedy_that_was_taken_is_not_named() -> None:
    (line,), _ = _classes("binary", weight="balanced")
    assert "balanced" not in line


def test_a_heavy_tail_on_a_linear_scale() -> None:
    y = np.stack([NUMBERS[:, 0], np.exp(1.5 * NUMBERS[:, 1])], axis=1)
    y[3, 1] = np.nan
    (line,) = tails(make_task(y, classification=False, names=("a", "b")), y)
    assert line.startswith("b:")
    assert "--target-scale auto" in line
    assert tails(make_task(y, classification=False, names=("a", "b"), scale="auto"), y) == []
    labels = make_task((y[:, :1] > 5).astype(float), classification=True, names=("a",), classes=(0, 1))
    assert tails(labels, y) == []

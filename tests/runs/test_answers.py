"""Answers: cells of each kind of task, and reasons for rows that have none."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from ccn.errors import CCNError, ConfigurationError
from ccn.graphs.pack import Pack
from ccn.learning.conformal import Calibration
from ccn.learning.model import Model, Prediction
from ccn.learning.task import Task
from ccn.runs.answers import Question, cells, columns, faults


def test_classes_have_a_name_and_probabilities(classes: Model) -> None:
    assert columns(classes) == ("y_pred", "y_prob_alcohol", "y_prob_amine")
    p = np.array([[0.25, 0.75], [1.0, 0.0]])
    assert cells(classes, Prediction(p, 0 * p)) == [["amine", "0.25", "0.75"], ["alcohol", "1", "0"]]


def test_rows_without_a_molecule_have_a_reason(classes: Model) -> None:
    texts = ["CO", "C1", "CN"]
    for question in (Question(), Question(embedding=True)):
        values, reasons = question.answer(classes, classes.inputs.parse(texts, classes.fitted.reads_edges), 3)
        assert [bool(reason) for reason in reasons] == [False, True, False]
        assert len(values[0]) == len(question.names(classes)) - 1


def test_a_row_that_fails_does_not_spoil_the_others(classes: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    predict = Model.predict

    def fails(self: Model, graphs: Pack) -> Prediction:
        if (graphs.sizes == 2).any():
            raise CCNError("two atoms")
        return predict(self, graphs)

    monkeypatch.setattr(Model, "predict", fails)
    parsed = classes.inputs.parse(["CO", "CCO", "CCN"], classes.fitted.reads_edges)
    values, reasons = Question().answer(classes, parsed, 3)
    assert reasons == ["two atoms", "", ""]
    assert [bool(row[0]) for row in values] == [False, True, True]


@pytest.mark.parametrize("embedding", [False, True])
def test_an_answer_that_is_not_finite_has_a_reason_and_no_cells(embedding: bool, classes: Model) -> None:
    broken = copy.deepcopy(classes)
    question, texts = Question(embedding=embedding), ["CO", "CCO"]
    parsed = broken.inputs.parse(texts, broken.fitted.reads_edges)
    with torch.no_grad():
        for p in broken.fitted.networks[0].parameters():  # type: ignore[attr-defined]
            p.fill_(math.nan)
    values, reasons = question.answer(broken, parsed, 2)
    assert all("not a finite number" in reason for reason in reasons)
    assert np.isnan(values).all() if embedding else values == [["", "", ""]] * 2


def test_one_value_that_is_not_finite_empties_its_row_alone(classes: Model) -> None:
    p = np.array([[np.nan, 0.5], [np.inf, 0.5], [0.25, 0.75]])
    assert cells(classes, Prediction(p, np.zeros_like(p))) == [[""] * 3, [""] * 3, ["amine", "0.25", "0.75"]]
    assert [bool(why) for why in faults(p)] == [True, True, False]


def test_what_a_model_cannot_answer_is_refused_before_the_first_row(classes: Model) -> None:
    Question().check(classes)
    with pytest.raises(ConfigurationError, match=r"--interval 0\.9"):
        Question(interval=0.9).check(classes)
    fitted: Any = replace(classes.fitted, task=Task("regression", ("y0", "y1")))
    numbers = replace(classes, fitted=fitted, calibration=Calibration(((0.5,), (0.5,) * 9)))
    with pytest.raises(ConfigurationError, match="19 calibration rows"):
        Question(interval=0.95).check(numbers)
    with pytest.warns(UserWarning, match="9 calibration rows, there are 1 for y0:"):
        Question(interval=0.9).check(numbers)
    p = np.ones((1, 2))
    assert cells(numbers, Prediction(p, np.zeros_like(p)), 0.9) == [["1", "", "", "1", "0.5", "1.5"]]
    other: Any = type("Other", (), {"embedding_width": 0})()
    with pytest.raises(ConfigurationError, match="ridge"):
        Question(embedding=True).check(replace(classes, fitted=other, method="ridge"))

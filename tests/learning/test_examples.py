from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from problem import graphs

import ccn
from ccn.datasets.splits import Split
from ccn.errors import ConfigurationError
from ccn.learning.examples import Examples, fingerprint, labelled, with_target

NONE = np.zeros(0, dtype=np.int64)


def made(count: int = 20, **more: object) -> Examples:
    pack = graphs(count)
    return Examples(pack, pack.sizes[:, None].astype(float), Split(np.arange(count), NONE, NONE), **more)  # type: ignore[arg-type]


def test_drawn_parts_share_out_the_training_rows() -> None:
    for calibration, sizes in ((True, (14, 3, 3)), (False, (14, 6, 0))):
        drawn = made().with_validation(0.3, 1, calibration=calibration)
        assert tuple(drawn.sizes.values()) == sizes
        rows = np.concatenate([drawn.train, drawn.validation, drawn.split.calibration])
        assert sorted(rows) == list(range(20))
    classes = np.repeat([0.0, 1.0], [15, 5])[:, None]
    given = Examples(graphs(20), classes, Split(np.arange(20), NONE, NONE), classification=True, classes=("a", "b"))
    drawn = given.with_validation(0.2, 0, calibration=False)
    assert classes[drawn.validation].sum() == 1  # a quarter of four
    with pytest.raises(ConfigurationError, match="validation_fraction=1"):
        made().with_validation(1.0, 0, calibration=False)


def test_the_task_is_that_of_the_rows_given() -> None:
    given = made()
    scale = given.task(np.arange(5)).scale
    assert scale is not None
    assert scale.mean[0] == pytest.approx(given.targets[:5].mean())
    assert given.task().targets == ("y0",)


def test_targets_and_weights_are_checked() -> None:
    pack = graphs(3)
    split = Split(np.arange(3), NONE, NONE)
    with pytest.raises(ConfigurationError, match="3 graphs"):
        Examples(pack, np.zeros((2, 1)), split)
    with pytest.raises(ConfigurationError, match="target 0 of row 1"):
        Examples(pack, np.array([[0.0], [np.inf], [1.0]]), split)
    with pytest.raises(ConfigurationError, match="negative"):
        Examples(pack, np.zeros((3, 1)), split, weights=np.array([1.0, -1.0, 1.0]))
    assert labelled(np.array([[np.nan, 1.0], [np.nan, np.nan]])).tolist() == [True, False]


def test_a_fingerprint_is_of_the_data() -> None:
    one, same, other = graphs(5), graphs(5), graphs(5, seed=1)
    assert fingerprint(one) == fingerprint(same) == fingerprint(one.select(range(5)))
    assert len({fingerprint(one), fingerprint(other), fingerprint(one.select([1, 0]))}) == 3
    assert fingerprint(one, np.zeros(2)) != fingerprint(one, np.zeros(3)) != fingerprint(one)


def test_rows_with_bounds_alone_are_for_training_alone() -> None:
    targets = np.arange(20.0)[:, None]
    bounds = np.full((20, 1, 2), np.nan)
    bounds[::4, 0], targets[::4] = (3.0, np.inf), np.nan
    split = Split(np.arange(12), np.arange(12, 16), np.arange(16, 20))
    parts = with_target(split, targets, bounds)
    assert parts.train.tolist() == list(range(12))
    assert parts.validation.tolist() == [13, 14, 15]
    graphs = ccn.Pack.of([ccn.Graph(n=2, edges=[(0, 1)])] * 20)
    examples = Examples(graphs, targets, parts, bounds=bounds)
    exact = examples.exact()
    assert exact.bounds is None
    assert exact.train.tolist() == [1, 2, 3, 5, 6, 7, 9, 10, 11]
    drawn = examples.with_validation(0.4, 0, calibration=True)
    assert {0, 4, 8} <= set(drawn.train.tolist())
    assert sorted(np.concatenate([drawn.train, drawn.validation, drawn.split.calibration]).tolist()) == list(range(12))


def test_a_draw_of_validation_rows_divides_no_group() -> None:
    graphs = ccn.Pack.of([ccn.Graph(n=2, edges=[(0, 1)])] * 24)
    examples = Examples(graphs, np.arange(24.0)[:, None], Split(np.arange(24), NONE, NONE), groups=np.arange(24) // 3)
    drawn = examples.with_validation(0.5, 0, calibration=True)
    parts = [set((rows // 3).tolist()) for rows in (drawn.train, drawn.validation, drawn.split.calibration)]
    assert all(parts)
    assert sum(map(len, parts)) == len(set.union(*parts)) == 8
    one = replace(examples, groups=np.zeros(24, dtype=np.int64)).with_validation(0.5, 0, calibration=True)
    assert one.sizes == {"train": 12, "validation": 6, "calibration": 6}


def _with_auxiliary(classes: tuple[int, ...] = ()) -> Examples:
    targets, auxiliary = np.arange(12.0)[:, None], np.full((12, 2), np.nan)
    targets[8:10] = np.nan
    auxiliary[[0, 1, 8, 10], 0] = 1.0
    auxiliary[11, 1] = 0.0  # in validation alone
    if classes:
        targets %= len(classes)
    split = with_target(Split(np.arange(10), np.array([10, 11]), NONE), targets, None, auxiliary)
    how = {"classification": bool(classes), "classes": classes, "auxiliary_names": ("a", "b")}
    return Examples(graphs(12), targets, split, auxiliary=auxiliary, **how)  # type: ignore[arg-type]


def test_auxiliary_columns_stand_behind_the_targets_in_training_rows_alone() -> None:
    given = _with_auxiliary()
    assert given.train.tolist() == list(range(9))  # row 8 has an auxiliary value, row 9 nothing
    joint = given.jointly()
    assert joint.names == ("y0", "a")
    np.testing.assert_array_equal(joint.targets[:, 0], given.targets[:, 0])
    np.testing.assert_array_equal(np.flatnonzero(~np.isnan(joint.targets[:, 1])), [0, 1, 8])
    assert given.without_auxiliary().train.tolist() == list(range(8))
    assert given.without_auxiliary().jointly().names == ("y0",)
    assert 8 in given.with_validation(0.5, 0, calibration=False).train
    labels = _with_auxiliary((0, 1)).jointly()
    assert labels.task().kind == "multilabel"


def test_auxiliary_columns_are_checked() -> None:
    given = _with_auxiliary()
    assert given.auxiliary is not None
    with pytest.raises(ConfigurationError, match="both"):
        replace(given, auxiliary_names=("a", "y0"))
    with pytest.raises(ConfigurationError, match="12 graphs"):
        replace(given, auxiliary=given.auxiliary[:5])
    with pytest.raises(ConfigurationError, match="3 classes"):
        _with_auxiliary((0, 1, 2))
    with pytest.raises(ConfigurationError, match=r"'a'.*0 and 1"):
        replace(_with_auxiliary((0, 1)), auxiliary=given.auxiliary * 2)

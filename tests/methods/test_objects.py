from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestRegressor
from sklearn.preprocessing import FunctionTransformer

from ccn.errors import FileError
from ccn.methods.objects import from_tensor, to_tensor

pytest.importorskip("skops")
X = np.random.default_rng(0).normal(size=(40, 3))


@pytest.mark.parametrize("made", [RandomForestRegressor(3), GradientBoostingClassifier(n_estimators=3)])
def test_there_and_back(made: object) -> None:
    made.fit(X, np.arange(40) % 3)  # type: ignore[attr-defined]
    again = from_tensor(to_tensor(made))
    np.testing.assert_array_equal(again.predict(X), made.predict(X))  # type: ignore[attr-defined]


def test_code_is_refused() -> None:
    with pytest.raises(FileError, match="do not use it"):
        from_tensor(to_tensor(FunctionTransformer(np.ndarray.dump)))


@pytest.mark.parametrize(("array", "value"), [("children_left", 10_000), ("children_right", 0), ("feature", 77)])
def test_altered_trees_are_refused(array: str, value: int) -> None:
    made = RandomForestRegressor(2, random_state=0).fit(X, np.arange(40.0))
    getattr(made.estimators_[1].tree_, array)[0] = value
    with pytest.raises(FileError, match="do not use it"):
        from_tensor(to_tensor(made))

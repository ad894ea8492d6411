from __future__ import annotations

import io
import zipfile
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.ensemble import GradientBoostingClassifier, RandomForestRegressor
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, SVR

from ccn.errors import FileError
from ccn.methods.objects import from_tensor, to_tensor

pytest.importorskip("skops")
X = np.random.default_rng(0).normal(size=(40, 3))


@pytest.mark.parametrize("made", [RandomForestRegressor(3), GradientBoostingClassifier(n_estimators=3)])
def test_there_and_back(made: object) -> None:
    made.fit(X, np.arange(40) % 3)  # type: ignore[attr-defined]
    again = from_tensor(to_tensor(made), (type(made).__name__,))
    np.testing.assert_array_equal(again.predict(X), made.predict(X))  # type: ignore[attr-defined]


def test_code_is_refused() -> None:
    with pytest.raises(FileError, match="do not use it"):
        from_tensor(to_tensor(FunctionTransformer(np.ndarray.dump)), ("FunctionTransformer",))


def test_an_archive_that_expands_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(*_: object, **__: object) -> None:
        raise AssertionError("an entry was read")

    for method, sizes in ((zipfile.ZIP_DEFLATED, (10_000_000,)), (zipfile.ZIP_BZIP2, (500_000, 500_000))):
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w", method) as archive:
            for i, size in enumerate(sizes):
                archive.writestr(f"{i}.npy", bytes(size))
        with monkeypatch.context() as patched:
            patched.setattr(zipfile.ZipFile, "open", opened)
            with pytest.raises(FileError, match="000; do not use it"):
                from_tensor(torch.from_numpy(np.frombuffer(made.getvalue(), dtype=np.uint8).copy()), ())


def test_what_is_not_an_archive_is_refused() -> None:
    with pytest.raises(FileError, match="do not use it"):
        from_tensor(torch.zeros(100, dtype=torch.uint8), ())


@pytest.mark.parametrize(("array", "value"), [("children_left", 10_000), ("children_right", 0), ("feature", 77)])
def test_altered_trees_are_refused(array: str, value: int) -> None:
    made = RandomForestRegressor(2, random_state=0).fit(X, np.arange(40.0))
    getattr(made.estimators_[1].tree_, array)[0] = value
    with pytest.raises(FileError, match="do not use it"):
        from_tensor(to_tensor(made), ("RandomForestRegressor",))


def test_trees_of_other_classes_are_refused() -> None:
    made = GradientBoostingClassifier(n_estimators=2).fit(X, np.arange(40) % 3)
    made.init_.class_prior_ = made.init_.class_prior_[:1]
    with pytest.raises(FileError, match="other classes"):
        from_tensor(to_tensor(made), ("GradientBoostingClassifier",))


def test_another_class_is_refused() -> None:
    with pytest.raises(FileError, match="StandardScaler"):
        from_tensor(to_tensor(StandardScaler().fit(X)), ("SVC", "SVR"))


@pytest.mark.parametrize("name", ["support_", "_n_support", "_dual_coef_", "_intercept_"])
@pytest.mark.parametrize("kind", [SVC, SVR])
def test_altered_machines_are_refused(name: str, kind: type[Any]) -> None:
    made = kind(kernel="precomputed").fit(X @ X.T, np.arange(40) % 3)
    assert (from_tensor(to_tensor(made), (kind.__name__,)).predict(X @ X.T) == made.predict(X @ X.T)).all()
    right = getattr(made, name)
    wrong = [right[:0], right.astype(np.float32), right[None]]
    if name == "support_":
        wrong += [np.full_like(right, -1), np.full_like(right, 40)]
    for value in wrong:
        setattr(made, name, value)
        with pytest.raises(FileError, match="do not use it"):
            from_tensor(to_tensor(made), (kind.__name__,))

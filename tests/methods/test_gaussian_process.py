"""The Gaussian process, against scikit-learn's and against a plain formula."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ccn
from ccn import sealed
from ccn.errors import FileError
from ccn.learning import model_file
from ccn.methods.gaussian_process import FittedGaussianProcess, _slope, _solve
from ccn.methods.kernels import PartShares

SMILES = ["C" * n + end for n in range(1, 11) for end in ("O", "N", "Cl")]
Y = np.array([len(s) + 2.0 * s.endswith("O") for s in SMILES])


@pytest.fixture(scope="module")
def model() -> Any:
    return ccn.CCNRegressor(method="gp").fit(SMILES, Y)


def test_the_posterior_mean_is_that_of_scikit_learn() -> None:
    from sklearn.kernel_ridge import KernelRidge

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 3)), rng.normal(size=(40, 1))
    k = np.exp(-((x[:, None] - x) ** 2).sum(-1))
    alpha, mean = _solve(k, y, np.ones(40), 0.3)
    ridge = KernelRidge(alpha=0.3, kernel="precomputed").fit(k, y - y.mean())
    np.testing.assert_allclose(k @ alpha + mean, ridge.predict(k) + y.mean(), rtol=1e-10)
    # A row of weight two counts as two rows.
    twice = np.r_[np.arange(40), 0]
    weight = np.ones(40)
    weight[0] = 2
    one, m = _solve(k, y, weight, 0.3)
    two, n = _solve(k[np.ix_(twice, twice)], y[twice], np.ones(41), 0.3)
    np.testing.assert_allclose(k @ one + m, k[:, twice] @ two + n, rtol=1e-8)


def test_the_prediction_is_the_weighed_kernel_of_parts_and_descriptors(model: Any) -> None:
    fitted = model.model_.fitted
    assert isinstance(fitted, FittedGaussianProcess)
    process, covariance = fitted.processes[0], fitted.covariance
    new = fitted.inputs.read(["CCCCCO", "CCCBr"])
    graphs = fitted.inputs.read(SMILES)
    p = PartShares(**covariance.parts.settings()).gram(new, graphs)
    z, t = (covariance.scale(g.graph_features[:, covariance.columns]).astype(float) for g in (new, graphs))
    r = np.exp(-((z[:, None] - t) ** 2).sum(-1) / (2 * z.shape[1]))
    assert len(covariance.pairs) == 315
    e, f = (g.graph_features[:, covariance.pairs].astype(float) for g in (new, graphs))
    dot = e @ f.T
    pairs = dot / np.maximum((e**2).sum(1)[:, None] + (f**2).sum(1) - dot, 0.01)
    for w, v in (process.shares, (0.4, 0.5)):
        fitted.processes[0] = replace(process, shares=(w, v))
        k = w * ((1 - v) * p + v * pairs) + (1 - w) * r
        expected = fitted.task.restore(k[:, process.rows] @ process.alpha + process.mean)
        np.testing.assert_allclose(fitted.predict(new)[0], expected, rtol=1e-6)
        np.testing.assert_allclose(fitted.contributions(new).residual, 0, atol=1e-10)
    fitted.processes[0] = process


def test_mirror_images_differ_by_half_a_view(model: Any) -> None:
    left, right = model.predict(["C[C@H](O)CC"]), model.predict(["C[C@@H](O)CC"])
    assert np.isfinite(left).all()
    assert np.isfinite(right).all()


def test_probabilities_are_calibrated_on_held_out_rows() -> None:
    rng = np.random.default_rng(0)
    f: Any = rng.normal(size=(4000, 1))
    y: Any = 2.0 * (rng.random((4000, 1)) < 1 / (1 + np.exp(-3 * f - 0.5))) - 1
    np.testing.assert_allclose(_slope(f, y), [3, 0.5], atol=0.3)
    assert np.isfinite(_slope(y, y)).all()  # rows that are all right


def test_the_file_holds_no_molecule_and_is_checked(model: Any, tmp_path: Path) -> None:
    path = model.save(tmp_path / "m.safetensors")
    held = sealed.read(path, {model_file.FORM: model_file.VERSION}, tensors=True)
    assert not any(s.encode() in path.read_bytes() for s in ("CCCCCCO", "CCCCCCCl"))
    changed = {"rows0": held.tensors["rows0"] + 1000, "count0.1": held.tensors["count0.1"] + 1}
    for name, value in {**changed, "alpha0": held.tensors["alpha0"][:3]}.items():
        tensors = {**held.tensors, name: value}
        sealed.write(tmp_path / "f.safetensors", model_file.FORM, model_file.VERSION, tensors, held.data)
        with pytest.raises(FileError):
            model_file.load(tmp_path / "f.safetensors")

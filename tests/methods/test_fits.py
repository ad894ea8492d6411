"""Fits of members: kept in files, in processes that may be killed, on a cluster."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ccn
from ccn.datasets.splits import Split
from ccn.errors import ConfigurationError, TrainingError
from ccn.learning.examples import Examples
from ccn.learning.inputs import Inputs, read
from ccn.methods.method import fit
from ccn.methods.registry import make_method
from ccn.training.execution import Execution

SMILES = ["C" * n + end for n in range(1, 16) for end in ("O", "N", "Cl", "")][:60]
Y = np.array([len(s) + 2.0 * s.endswith("O") for s in SMILES])
QUICK = {"methods": ("trees", "gp"), "folds": 3}


def test_a_member_in_a_damaged_file_is_fitted_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graphs, _, molecules = read(SMILES, "element", False, canonical=True)
    rows = np.arange(len(Y))
    split = Split(rows, rows[:0], rows[:0], complete=False)
    examples = Examples(graphs, Y[:, None], split, inputs=Inputs("element"), molecules=molecules)
    made = make_method("auto", classification=False, methods=("trees",), folds=2)
    whole, _ = fit(made, examples, Execution(folder=tmp_path))
    first, second, every = sorted(tmp_path.glob("trees-*.safetensors"))
    first.write_bytes(first.read_bytes()[:-9])
    second.write_bytes(b"")
    kept, fits = every.read_bytes(), []

    def count(*given: Any, **how: Any) -> Any:
        fits.append(given)
        return fit(*given, **how)

    monkeypatch.setattr("ccn.methods.fits.fit", count)
    again, _ = fit(made, examples, Execution(folder=tmp_path, resume=True))
    assert len(fits) == 2
    assert every.read_bytes() == kept
    np.testing.assert_array_equal(whole.predict(graphs).mean, again.predict(graphs).mean)


@pytest.mark.skipif(os.name != "posix", reason="kills")
def test_a_killed_worker_is_an_error_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def die(*given: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr("ccn.methods.fits._fit", die)
    monkeypatch.setattr("ccn.methods.fits._IN_PROCESS", 0)
    with pytest.raises(TrainingError, match="--resume"):
        ccn.CCNRegressor(method="auto", options={**QUICK, "processes": 2}).fit(SMILES, Y)


@pytest.mark.filterwarnings("ignore")  # of Dask's own servers
def test_a_cluster_gives_the_same_model(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    graphs, _, molecules = read(SMILES, "element", False, canonical=True)
    rows = np.arange(len(Y))
    split = Split(rows, rows[:0], rows[:0])
    examples = Examples(graphs, Y[:, None], split, inputs=Inputs("element"), molecules=molecules)
    made = make_method("auto", classification=False, methods=("gp",), folds=2)
    here, _ = fit(made, examples, Execution(folder=tmp_path / "here"))
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None) as started,
        distributed.Client(started) as client,
    ):
        there, _ = fit(made, examples, Execution(folder=tmp_path / "there", client=client))
        single = make_method("gp", classification=False)
        with pytest.raises(ConfigurationError, match="--cluster"):
            fit(single, examples, Execution(client=client))
    np.testing.assert_array_equal(there.predict(graphs).mean, here.predict(graphs).mean)
    assert sorted(p.name for p in (tmp_path / "there").iterdir()) == sorted(
        p.name for p in (tmp_path / "here").iterdir()
    )
    again, _ = fit(made, examples, Execution(folder=tmp_path / "there", resume=True))
    np.testing.assert_array_equal(again.predict(graphs).mean, here.predict(graphs).mean)

"""``ccn explain`` as a user calls it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ccn import CCNRegressor
from ccn.cli import main

Call = Callable[..., None]
SMILES = [f"{'C' * n}{end}" for n in range(1, 8) for end in ("O", "N", "Cl")]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    made: Any = CCNRegressor(method="gp").fit(SMILES, [float(len(s)) for s in SMILES])
    return str(made.save(tmp_path_factory.mktemp("run") / "model.safetensors"))


def test_contributions_are_printed(ccn: Call, model: str, capsys: pytest.CaptureFixture[str]) -> None:
    ccn("explain", model, "CCCO", "--quiet")
    out = capsys.readouterr().out
    assert "baseline" in out
    assert "atom 3 (O)" in out


def test_json_has_every_term(ccn: Call, model: str, capsys: pytest.CaptureFixture[str]) -> None:
    ccn("explain", model, "CCCO", "CN", "--json")
    for found in json.loads(capsys.readouterr().out):
        terms = [found["baseline"], *found["atoms"], *found["bonds"], *found["whole"].values(), found["residual"]]
        np.testing.assert_allclose(sum(terms), found["prediction"], rtol=1e-9)


def test_files_are_written(ccn: Call, model: str, tmp_path: Path) -> None:
    for suffix in ("html", "svg", "csv", "sdf"):
        ccn("explain", model, "CCCO", "-o", tmp_path / f"why.{suffix}", "--quiet")
        assert (tmp_path / f"why.{suffix}").stat().st_size > 100


def test_a_wrong_output_is_an_error(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as error:
        main(["explain", model, "CCCO", "-o", str(tmp_path / "why.pdf")])
    assert error.value.code == 1
    assert ".html" in capsys.readouterr().err

"""Auxiliary columns of a table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ccn.datasets import load
from ccn.datasets.auxiliary import with_auxiliary
from ccn.datasets.replicates import join
from ccn.errors import ConfigurationError


def _table(folder: Path, lines: str) -> str:
    (folder / "t.csv").write_text("smiles,y,logp,word\n" + lines)
    return str(folder / "t.csv")


def test_cells_belong_to_the_rows_that_were_kept(tmp_path: Path) -> None:
    path = _table(tmp_path, "CO,1,0.5,a\nno molecule,2,9,a\nCCO,3,,a\nCCCO,,1.5,a\nCN,4,>3,a\nCCN,5,high,a\n")
    data = with_auxiliary(load(path, target_columns=["y"]), path, ["logp"])
    assert data.auxiliary is not None
    np.testing.assert_array_equal(data.auxiliary[:, 0], [0.5, np.nan, 1.5, np.nan, np.nan])
    assert data.auxiliary_names == ("logp",)
    assert [(r.row, r.value) for r in data.noted] == [(6, "high")]
    np.testing.assert_array_equal(data.subset([2, 0]).auxiliary, [[1.5], [0.5]])


def test_replicates_have_the_mean(tmp_path: Path) -> None:
    path = _table(tmp_path, "CO,1,0.5,a\nOC,2,1.5,a\nCCO,3,,a\nOCC,4,,a\nCN,5,2,a\nNC,6,,a\n")
    joined = join(with_auxiliary(load(path, target_columns=["y"]), path, ["logp"]), "mean")
    assert joined.auxiliary is not None
    np.testing.assert_array_equal(joined.auxiliary[:, 0], [1.0, np.nan, 2.0])


@pytest.mark.parametrize(("column", "fact"), [("y", "target"), ("word", "no number"), ("none", "none")])
def test_columns_that_cannot_be_auxiliary(tmp_path: Path, column: str, fact: str) -> None:
    path = _table(tmp_path, "CO,1,0.5,a\nCCO,3,1,a\n")
    with pytest.raises(ConfigurationError, match=fact):
        with_auxiliary(load(path, target_columns=["y"]), path, [column])

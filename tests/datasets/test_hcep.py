"""HCEP: all rows, or a draw that the seed decides."""

from pathlib import Path

import numpy as np
import pytest

from ccn.datasets import load
from ccn.errors import ConfigurationError


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "hcep.csv"
    path.write_text("smiles,pce,source\n" + "".join(f"{'C' * i}O,{i / 7},{'ab'[i % 2]}\n" for i in range(1, 41)))
    return path


def test_rows_have_efficiencies_and_groups(table: Path) -> None:
    data = load("HCEP", path=table)
    assert (len(data), data.task, data.units) == (40, "regression", ("%",))
    assert data.groups is not None
    assert set(data.groups) == {"a", "b"}


def test_a_draw_is_without_replacement_and_follows_the_seed(table: Path) -> None:
    draws = [load("HCEP", path=table, draw=25, seed=s).rows for s in (0, 0, 1)]
    first, again, other = (np.asarray(d) for d in draws)
    assert len(set(first.tolist())) == 25
    assert first.tolist() == again.tolist() != other.tolist()
    with pytest.raises(ConfigurationError, match="draw=41"):
        load("HCEP", path=table, draw=41)

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ccn.cli.reproduce import _splits
from ccn.errors import ConfigurationError
from ccn.experiments.records import read


def test_it_says_what_is_to_do_and_does_it_once(
    ccn: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("reproduce", "mutag", "--methods", "ridge", "--splits", "1", "--results", tmp_path)
    ccn(*words)
    told = capsys.readouterr().err.splitlines()
    assert "1 cells, 0 with a record" in told[0]
    assert "[1/1] MUTAG ridge split 0: done accuracy" in told[1]
    ccn(*words)
    assert "0 to do" in capsys.readouterr().err
    assert len(read(tmp_path)) == 1
    assert len((tmp_path / "kernels" / "MUTAG.jsonl").read_text().splitlines()) == 1


@pytest.mark.parametrize(("text", "meant"), [("3", [0, 1, 2]), ("2-4", [2, 3, 4]), ("0,3,5-6", [0, 3, 5, 6])])
def test_splits_are_a_number_a_range_or_a_list(text: str, meant: list[int]) -> None:
    assert _splits(text) == meant


def test_other_splits_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="--splits some"):
        _splits("some")

"""Tables, sentences and the figure about trust."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ccn.reports.figures import write_pictures
from ccn.reports.trust import bands_rows, reliability_text, trust_pictures, trust_text, words_rows


def group(rows: int, error: float | None, **more: Any) -> dict[str, Any]:
    return {"rows": rows, "error": error, "distance": 0.3, "standard_error": 0.1, **more}


def example(inside: int = 50, covered: bool = True) -> dict[str, Any]:
    more = {"coverage": 0.9} if covered else {}
    words = {"inside": group(inside, 1.0, **more), "edge": group(40, 2.0, **more), "outside": group(0, None)}
    bands = [{"from": 0.0, "to": 0.5, **group(60, 1.0, **more)}, {"from": 0.5, "to": 1.0, **group(30, 2.0, **more)}]
    bins = [{"rows": 40, "predicted": 0.2, "observed": 0.3}, {"rows": 50, "predicted": 0.8, "observed": 1.0}]
    part: dict[str, Any] = {"rank_correlation": 0.4, "words": words, "bands": bands}
    if not covered:
        part["reliability"] = {"of": "yes", "rows": 90, "ece": 0.16, "brier": 0.1, "bins": bins}
    parts = {"validation": part, "test": part}
    return {"inside": 0.4, "outside": 0.7, "bands": [0.0, 0.5, 1.0], "error": "MAE", "parts": parts}


@pytest.mark.parametrize("covered", [True, False])
def test_tables_have_a_row_for_each_word_and_band(covered: bool) -> None:
    for rows, count, first in ((words_rows, 3, 2), (bands_rows, 2, 1)):
        head, body = rows(example(covered=covered))
        assert len(body) == count
        assert {len(row) for row in body} == {len(head)} == {first + 2 * (3 if covered else 2)}


def test_the_sentence_compares_only_with_enough_rows() -> None:
    assert "2 times" in trust_text(example())
    few = trust_text(example(inside=5))
    assert "times" not in few
    assert few != trust_text(example())


def test_reliability_in_words() -> None:
    assert "16.0 %" in reliability_text(example(covered=False)["parts"]["test"]["reliability"])


@pytest.mark.parametrize("covered", [True, False])
def test_there_is_a_picture_of_what_there_is(covered: bool, tmp_path: Path) -> None:
    made = trust_pictures(example(covered=covered))
    assert len(made) == 1 + covered
    assert all(write_pictures(made, tmp_path).values())

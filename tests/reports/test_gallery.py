"""Pages of drawn molecules: bounded, and whatever is in a cell is text."""

from __future__ import annotations

from ccn.reports import gallery as galleries
from ccn.reports.gallery import MOST_ROWS, gallery

BAD = "</td><script>alert(1)</script>"


def test_cells_are_text_and_rows_that_cannot_be_drawn_stay() -> None:
    page = gallery(BAD, ["name", "smiles", BAD], [[BAD, "CCO", BAD], ["b", "none", "1"]], [1], 2, BAD)
    assert page.count("<script>") == 1
    assert page.count("alert(1)") == page.count("&lt;script&gt;alert(1)")
    assert page.count("<tr>") == 3
    assert page.count("<svg") == 1
    assert "are shown" not in page


def test_a_page_is_bounded() -> None:
    rows = ([str(i), "C"] for i in range(3 * MOST_ROWS))
    page = gallery("t", ["n", "smiles"], rows, [1], 3 * MOST_ROWS)
    assert page.count("<tr>") == 1 + MOST_ROWS
    assert f"{3 * MOST_ROWS:,}" in page
    assert next(rows)[0] == str(MOST_ROWS)  # the others were not read
    long = gallery("t", ["n", "smiles"], [["x" * 10_000, "C"]], [1], 1)
    assert len(long) < 20_000
    assert galleries._MOST_BYTES < 5_000_000


def test_neighbours_are_drawn_in_their_cells() -> None:
    rows = [["CCO", "CCN"], ["CCO", ""]]
    page = gallery("t", ["smiles", "neighbour_1"], rows, [0, 1], 2)
    assert page.count("<svg") == 3
    assert "</div>CCN</td>" in page

"""Tables as pictures."""

from pathlib import Path

import pytest
from made_up import accuracies, hcep

from ccn.errors import DataError
from ccn.paper.cells import cells
from ccn.paper.plot import draw
from ccn.paper.tables import table

RECORDS = [*accuracies("MUTAG", wl=[0.8, 0.9, 0.7], gin=[0.3]), hcep("boosting", 1.0)]


@pytest.mark.parametrize("name", ["kernels", "hcep"])
def test_a_picture(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = draw(table(name, RECORDS), tmp_path / "table.png")
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("name", "words"),
    [("expressivity", "expressivity"), ("qm9-units", "qm9"), ("kernels-more", "MUTAG --methods ridge,wl --splits 100")],
)
def test_there_is_no_picture_of_nothing(name: str, words: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(DataError, match=f"ccn reproduce {words} "):
        draw(table(name, []), tmp_path / "table.png")
    assert cells(words.split()[0])

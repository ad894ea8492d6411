"""`ccn draw`: schemes as pictures and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ccn.errors import CCNError
from ccn.graphs.graph import Graph
from ccn.schemes import Neighbourhoods, Scheme


@pytest.mark.parametrize("kind", ["neighbourhoods", "open", "rings"])
def test_a_molecule_is_drawn(ccn: Callable[..., None], tmp_path: Path, kind: str) -> None:
    ccn("draw", "c1ccccc1C(=O)O" if kind == "rings" else "CC(=O)O", "--scheme", kind, "-o", tmp_path / "x.svg")
    assert "level 1" in (tmp_path / "x.svg").read_text()


def test_many_nodes_a_table_and_json(
    ccn: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "m.csv").write_text("smiles,y\nCC,1\nCC(C)Cc1ccc(cc1)C(C)C(=O)O,2\n")
    ccn("draw", tmp_path / "m.csv", "--row", "2", "--atom", "3", "-o", tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    assert "15 atoms" in capsys.readouterr().out
    ccn("draw", "CCO", "--levels", "1", "-o", tmp_path / "s.json")
    made = Scheme.from_json(json.loads((tmp_path / "s.json").read_text()))
    assert made == Neighbourhoods(levels=1)(Graph.from_smiles("CCO"))
    ccn("draw", tmp_path / "s.json", "-o", tmp_path / "s.svg")
    assert (tmp_path / "s.svg").stat().st_size > 5000
    for words in (
        ["not a molecule"],
        [tmp_path / "m.csv", "--row", "3"],
        ["CCO", "--atom", "7"],
        ["CC", "--levels=-1"],
    ):
        with pytest.raises(CCNError):
            ccn("draw", *words, "-o", tmp_path / "y.svg")

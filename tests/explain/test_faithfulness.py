"""The figures on the page about explanations are those of the record."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import faithfulness
from benchmarks.faithfulness import PAGE, RECORD, as_smiles, auroc, measure, molecules, planted, rendered, without
from ccn.chemistry.smiles import parse_smiles


def test_the_page_shows_the_record() -> None:
    assert rendered(json.loads(RECORD.read_text(encoding="utf-8"))) in PAGE.read_text(encoding="utf-8")


def test_planted_atoms_are_those_of_the_rules() -> None:
    label, atoms, _ = planted("motif", "CCC(=O)NC")
    assert (label, np.flatnonzero(atoms).tolist()) == (1.0, [2, 3, 4])
    label, atoms, pairs = planted("pair", "OCCN")
    assert (label, np.flatnonzero(atoms).tolist(), pairs) == (1.0, [0, 3], [(0, 3)])
    assert planted("pair", "OCN")[0] == 0
    total, above, _ = planted("sum", "CCO")
    assert above.tolist() == [True, True, False]
    assert round(total, 3) == round(-0.0014, 3)


def test_the_share_of_right_orders() -> None:
    assert auroc(np.array([3.0, 2.0, 1.0]), np.array([True, False, True])) == 0.5
    assert auroc(np.array([1.0]), np.array([True])) is None
    assert len(set(molecules(30))) == 30


def test_a_masked_molecule_is_the_same_as_smiles() -> None:
    from rdkit import Chem

    cut = without(parse_smiles("Cc1ccccc1N"), [2, 4, 7])
    again = parse_smiles(as_smiles(cut))
    for mol in (cut, again):
        assert sum(atom.GetIsAromatic() for atom in mol.GetAtoms()) == 6
        assert sorted(atom.GetTotalNumHs() for atom in mol.GetAtoms()) == [0, 0, 0, 0, 0, 1, 1, 3]
    assert Chem.MolToSmiles(again) == Chem.MolToSmiles(cut)


def test_chemprop_is_left_out_where_it_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- faithfulness: begin -->\n<!-- faithfulness: end -->\n", encoding="utf-8")
    monkeypatch.setattr(faithfulness, "PAGE", page)
    monkeypatch.setattr(faithfulness, "RECORD", tmp_path / "record.json")
    monkeypatch.setattr(sys, "argv", ["faithfulness", "--methods", "chemprop"])
    monkeypatch.delenv("CCN_CHEMPROP", raising=False)
    faithfulness.main()
    assert "CCN_CHEMPROP" in capsys.readouterr().out
    assert not (tmp_path / "record.json").exists()


# A command that answers as chemprop does: it predicts the share of carbon, of which each carbon has its part.
FAKE = """#!{python}
import csv, json, pathlib, sys
given = dict(zip(sys.argv[2::2], sys.argv[3::2]))
if sys.argv[1] == "predict":
    told = pathlib.Path(given["--preds-path"])
    smiles = [row["smiles"] for row in csv.DictReader(open(given["--test-path"]))]
    atoms = [[c in "Cc" for c in text.replace("Cl", "X") if c.isalpha() or c == "*"] for text in smiles]
    parts = [[own / len(each) for own in each] for each in atoms]
    told.write_text("\\n".join(["smiles,y", *(f"{{s}},{{sum(p)}}" for s, p in zip(smiles, parts))]) + "\\n")
    if given.get("--callback") == "myerson":
        told.with_name("predicted_myerson_explanation.json").write_text(json.dumps(parts))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a script is no command there")
def test_chemprop_is_explained_by_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = tmp_path / "chemprop"
    command.write_text(FAKE.format(python=sys.executable))
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CCN_CHEMPROP", str(command))
    monkeypatch.setattr(faithfulness, "ROWS", 5)
    row = measure("sum", "chemprop")
    assert (row["molecules"], row["version"]) == (80, "unknown")
    assert row["auroc"] > 0.6  # carbon raises logP
    assert row["residual"] < 1e-12
    assert row["deletion"] == sorted(row["deletion"])
    assert all(ours > random for ours, random in zip(row["deletion"], row["random"], strict=True))

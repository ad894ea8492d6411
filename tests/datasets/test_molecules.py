"""Tables of molecules: every odd row is said, the good ones go on."""

import csv
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ccn import Graph, datasets
from ccn.chemistry.properties import molecule_features
from ccn.datasets import load
from ccn.datasets.molecules import convert, pack_molecules
from ccn.errors import ConfigurationError, DataError, GraphError

SMILES = ["CCO", "c1ccccc1", "C", "[Na+].[Cl-]", "CC(=O)O", "N#N"]


def write(path: Path, *lines: str, header: str = "smiles,y") -> Path:
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


def kinds(remarks: Any) -> list[tuple[int, str]]:
    return [(r.row, r.kind) for r in remarks]


@pytest.mark.parametrize("hydrogens", [False, True])
def test_the_pack_holds_the_graphs_that_smiles_give_one_by_one(hydrogens: bool) -> None:
    pack = pack_molecules(SMILES, hydrogens=hydrogens).pack
    for made, smiles in zip(pack, SMILES, strict=True):
        one = Graph.from_smiles(smiles, hydrogens=hydrogens)
        assert np.array_equal(made.entries, one.entries)
        assert torch.equal(made.features.float(), one.features.float())
        a, b = made.edge_features, one.edge_features
        assert a is not None
        assert b is not None
        assert torch.equal(a[made.entry_edge].float(), b[one.entry_edge].float())


@pytest.mark.parametrize("more", ["", "=", "O", "1", "(", "c", "n", "[nH]", "*", ".C", "[H]", "[2H]", "#", "+"])
def test_what_is_a_molecule_does_not_depend_on_what_is_read_of_it(more: str) -> None:
    """Also where only bonded atoms are read, for which RDKit is not asked to perceive aromaticity."""
    known = ["c1ccccc1", "c1cc[nH]c1", "c1cccc1", "CN(=O)=O", "C1=CC=CC=C1", "c1ccc-2c(c1)-c1ccccc12", "[Na+].[Cl-]"]
    odd = ["", "C[N+](C)(C)C", "N->[Pt](Cl)Cl", "CCO name", "c1cc2c3cocc3c3c4[SiH2]C(=Cc4ncc3c2[se]1)c1scc2C=CCc12"]
    many = [s[:cut] + more + s[cut:] for s in [*known, *odd] for cut in range(len(s) + 1)]
    whole, bare = molecule_features("element"), replace(molecule_features("element"), bond=())
    complete, quick = (convert(many, features) for features in (whole, bare))
    assert (complete.good.tolist(), complete.bad, complete.noted) == (quick.good.tolist(), quick.bad, quick.noted)
    a, b = complete.pack.arrays, quick.pack.arrays
    assert all(np.array_equal(a[key], b[key]) for key in ("vertex_start", "features", "row", "column"))


def test_workers_give_what_one_process_gives() -> None:
    many = [*SMILES, "bad", *SMILES, "", "C(C"]
    options: dict[str, Any] = {"canonical": True, "elements": ("H", "C"), "chunk": 4, "serial": 0}
    alone, both = (pack_molecules(many, n_jobs=jobs, **options) for jobs in (1, 2))
    for key, value in alone.pack.arrays.items():
        assert np.array_equal(value, both.pack.arrays[key])
    assert (alone.bad, alone.noted, alone.canonical) == (both.bad, both.noted, both.canonical)
    assert [i for i, _ in both.bad] == [6, 13, 14]
    assert both.counts[:3].tolist() == [[6, 2], [6, 6], [4, 1]]


def test_a_script_needs_no_main_guard(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from ccn.datasets.molecules import pack_molecules\n"
        "print(len(pack_molecules(['CCO'] * 30, n_jobs=2, chunk=10, serial=0).pack))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "30"


def test_each_kind_of_bad_row_is_reported_and_the_good_go_on(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(
        b"\xef\xbb\xbfname,smiles,y\n"
        b"a,CCO,1.25\nb\xe9,CCN,2.5\n\nc,C1CC,3\nd,FC(F)(F)(F)F,1\ne,CCC,high\nf,C,0.5\ng,[Na+].[Cl-],0.1\n"
        b"h,OCC,9.5\ni,CCCC\nj,,4.2\nk,c1ccccc1,\nl,CCCCC,inf\nm,OCC,1.25\n"
    )
    data = load(path)
    assert kinds(data.dropped) == [
        (3, "empty row"),
        (4, "not a SMILES"),
        (5, "not a molecule"),
        (6, "not a number in a target column"),
        (10, "wrong number of cells"),
        (11, "no SMILES"),
        (13, "not a number in a target column"),
    ]
    assert kinds(data.noted) == [
        (2, "not UTF-8"),
        (7, "single atom"),
        (8, "disconnected"),
        (9, "duplicate with another target"),
    ]
    assert data.rows is not None
    assert data.rows.tolist() == [1, 2, 7, 8, 9, 12, 14]
    assert data.smiles is not None
    assert list(data.smiles)[:2] == ["CCO", "CCN"]
    assert data.ids is not None
    assert data.ids[1] == "bé"
    np.testing.assert_array_equal(data.targets[:, 0], [1.25, 2.5, 0.5, 0.1, 9.5, np.nan, 1.25])
    assert "7 rows dropped: 2 not a number in a target column" in str(data)
    # Every row of the file is either a graph or dropped.
    assert sorted([*data.rows.tolist(), *(r.row for r in data.dropped)]) == list(range(1, 15))
    with data.write_dropped(tmp_path / "dropped.csv").open(newline="") as file:
        written = list(csv.DictReader(file))
    assert [int(r["row"]) for r in written if r["action"] == "dropped"] == [r.row for r in data.dropped]
    assert written[1] == {"row": "3", "value": "", "reason": "empty row", "action": "dropped"}
    with pytest.raises(DataError, match=r"bad\.csv: row 3: empty row"):
        load(path, strict=True)


def test_strict_stops_at_contradictions_but_not_at_salts(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "CCO,1.5", "C,2.5", "[Na+].[Cl-],0.5")
    assert len(load(path, strict=True)) == 3
    with pytest.raises(DataError, match="row 2: duplicate with another target: the molecule of row 1"):
        load(write(path, "CCO,1.5", "OCC,2.5"), strict=True)


def test_no_good_row_and_no_such_column_are_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no good row among 2; row 1: not a SMILES"):
        load(write(tmp_path / "t.csv", "xx,1", "C(,2"))
    with pytest.raises(DataError, match="no good row among 0"):
        load(write(tmp_path / "t.csv"))
    with pytest.raises(ConfigurationError, match="no column 'smile'"):
        load(write(tmp_path / "t.csv", "C,1"), smiles_column="smile")
    with pytest.raises(ConfigurationError, match=r"'smile_column' is not an option here; .*smiles_column"):
        load(write(tmp_path / "t.csv", "C,1"), smile_column="smile")


def test_a_thousand_columns_are_a_thousand_targets(tmp_path: Path) -> None:
    header = ",".join(["smiles", *(f"t{i}" for i in range(999))])
    lines = [",".join(["C" * n, *(f"{n}.{i}" for i in range(999))]) for n in (1, 2, 3)]
    data = load(write(tmp_path / "t.csv", *lines, header=header))
    assert data.targets.shape == (3, 999)
    assert data.targets[1, 998] == 2.998
    assert "(999 in all)" in str(data)


def test_several_targets_with_missing_and_wrong_cells_keep_the_row(tmp_path: Path) -> None:
    data = load(write(tmp_path / "t.csv", "C,1.5,", "CC,NA,2.5", "CCC,oops,3.5", header="smiles,a,b"))
    np.testing.assert_array_equal(data.targets, [[1.5, np.nan], [np.nan, 2.5], [np.nan, 3.5]])
    assert kinds(data.noted) == [(1, "single atom"), (3, "not a number in a target column")]
    with pytest.raises(DataError, match="row 3"):
        load(tmp_path / "t.csv", strict=True)


def test_the_task_is_found_or_given(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", *(f"{'C' * i},{i % 2},{i % 3}.0" for i in range(1, 9)), header="smiles,a,b")
    several = load(path)
    assert (several.task, several.classes) == ("classification", (0, 1, 2))
    assert several.targets[:, 0].tolist() == [1, 0] * 4
    assert load(path, task="regression").classes == ()
    words = load(write(path, "C,yes", "CC,no", "CCC,", "CCCC,no"))
    assert (words.task, words.classes) == ("classification", ("no", "yes"))
    np.testing.assert_array_equal(words.targets[:, 0], [1, 0, np.nan, 0])
    mixed = write(path, *(f"{'C' * i},{'yn'[i % 2]},{i}.5" for i in range(1, 9)), header="smiles,a,b")
    assert load(mixed).target_names == ("b",)
    with pytest.raises(DataError, match="'a' has words and 'b' has numbers"):
        load(mixed, target_columns=["a", "b"])


def test_weights_groups_and_splits_come_along_and_bad_weights_are_dropped(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "C,1.5,1,g,train", "CC,2.5,0,g,train", "CCC,3.5,2,h,test", header="smiles,y,w,g,s")
    data = load(path, weight_column="w", group_column="g", split_column="s", target_columns=["y"])
    assert data.weights is not None
    assert data.weights.tolist() == [1, 2]
    assert data.groups is not None
    assert list(data.groups) == ["g", "h"]
    assert data.splits is not None
    assert list(data.splits.select([1])) == ["test"]
    assert kinds(data.dropped) == [(2, "weight is not a positive number")]
    few = data.subset([1])
    assert few.weights is not None
    assert few.weights.tolist() == [2]


def test_a_file_of_molecules_alone_has_no_targets(tmp_path: Path) -> None:
    (tmp_path / "t.smi").write_text("CCO\nC\n")
    data = datasets.load(tmp_path / "t.smi")
    assert data.targets.shape == (2, 0)
    assert data.name == "t"


def test_a_letter_that_is_not_ascii_makes_no_other_molecule() -> None:
    made = pack_molecules(["CCO", "CCÖ", "CCO…", "CCO éthanol"])
    assert made.good.tolist() == [0, 3]
    assert made.bad == [(1, "not a SMILES: it has the character 'Ö'"), (2, "not a SMILES: it has the character '…'")]
    with pytest.raises(GraphError, match="cannot read"):
        Graph.from_smiles("CCÖ")

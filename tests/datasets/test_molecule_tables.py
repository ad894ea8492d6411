"""Tables of molecules: a remark on every bad or unusual row, and all good ones kept."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ccn.datasets import load
from ccn.datasets.molecule_tables import find_schema, read_molecules
from ccn.datasets.tables import open_table
from ccn.errors import ConfigurationError, DataError


def write(path: Path, *lines: str, header: str = "smiles,y") -> Path:
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


def kinds(remarks: Any) -> list[tuple[int, str]]:
    return [(r.row, r.kind) for r in remarks]


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
    with pytest.raises(DataError, match=r"bad\.csv: row 3"):
        load(path, strict=True)


def test_strict_stops_at_contradictions_but_not_at_salts(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "CCO,1.5", "C,2.5", "[Na+].[Cl-],0.5")
    assert len(load(path, strict=True)) == 3
    with pytest.raises(DataError, match=r"row 2: .*row 1"):
        load(write(path, "CCO,1.5", "OCC,2.5"), strict=True)


def test_no_good_row_and_no_such_column_are_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="2; row 1: "):
        load(write(tmp_path / "t.csv", "xx,1", "C(,2"))
    with pytest.raises(DataError, match=r"\b0\b"):
        load(write(tmp_path / "t.csv"))
    with pytest.raises(ConfigurationError, match="'smile'"):
        load(write(tmp_path / "t.csv", "C,1"), smiles_column="smile")
    with pytest.raises(ConfigurationError, match=r"'smile_column'.*smiles_column"):
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
    with pytest.raises(DataError, match=r"'a' .*'b'"):
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
    data = load(tmp_path / "t.smi")
    assert data.targets.shape == (2, 0)
    assert data.name == "t"


def test_canonical_smiles_are_kept_with_the_rows(tmp_path: Path) -> None:
    data = load(write(tmp_path / "t.csv", "OCC,1.5", "C1CC,1", "C(C)O,2.5", "[H]C,3.5"))
    assert data.canonical is not None
    assert list(data.canonical) == ["CCO", "CCO", "C"]
    assert list(data.subset([2, 0]).canonical or ()) == ["C", "CCO"]


def test_columns_are_found_by_name_and_by_inspection(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("CCO,1.5\nC,2\n")
    assert find_schema(open_table(path)).smiles == "column 1"
    path.write_text("index,code,compound,dose,class\n" + "".join(f"{i},A{i},{'C' * i}O,{i}.5,x\n" for i in range(1, 9)))
    schema = find_schema(open_table(path))
    assert (schema.smiles, schema.targets, schema.id) == ("compound", ("dose",), "index")
    path.write_text("Canonical_SMILES,note,active\n" + "".join(f"C{'C' * i},n{i},{'yn'[i % 2]}\n" for i in range(8)))
    schema = find_schema(open_table(path))
    assert (schema.smiles, schema.targets, [*schema.words]) == ("Canonical_SMILES", ("active",), ["active"])
    assert find_schema(open_table(path), target_columns="ACTIVE").targets == ("active",)
    with pytest.raises(ConfigurationError, match=r"'actve'.*'active'"):
        find_schema(open_table(path), target_columns=["actve"])
    path.write_text("a,b\nhello there,1\nwhat now,2\n")
    with pytest.raises(DataError, match="smiles_column"):
        find_schema(open_table(path))


def test_every_row_is_read_or_reported_whatever_is_in_a_cell(tmp_path: Path) -> None:
    cells = ['"CCO', "CCO ethanol", '"CC\nCCC"', "C" * 20_000, "C" * 100_000, '"C ""x"""']
    good = [f"{i / 7:.3f},{'C' * (i + 1)}" for i in range(10)]
    lines = [*good[:5], *(f"9.5,{cell}" for cell in cells), *good[5:]]
    (tmp_path / "t.csv").write_text("\n".join(["y,smiles", *lines, ""]))
    data = read_molecules(tmp_path / "t.csv", target_columns="y", max_atoms=1000)
    assert list(data.smiles or ()) == ["C" * (i + 1) for i in range(10)]
    assert [r.row for r in data.dropped] == [6, 7, 8, 9, 10, 11]
    assert [r.kind for r in data.dropped] == [
        "quote that is not closed", "not a SMILES", "not a SMILES", "too large", "too large", "not a SMILES",
    ]  # fmt: skip


NUMBERS = [f"{i / 7 - 2:.2f}" for i in range(30)]


@pytest.mark.parametrize("delimiter", [";", ",", "\t"])
def test_decimal_commas_are_read_and_said(tmp_path: Path, delimiter: str) -> None:
    rows = [["C" * (i + 1), y.replace(".", ","), "0,5"] for i, y in enumerate([*NUMBERS, "3", "1e-3", "", "n/a"])]
    with (tmp_path / "t.csv").open("w") as file:
        csv.writer(file, delimiter=delimiter).writerows(
            [["smiles", "y", "w"], *rows, ["CO", "high", "1"], ["CN", "1.234,5", "1"]]
        )
    data = load(tmp_path / "t.csv", target_columns="y", weight_column="w")
    expected = [*map(float, NUMBERS), 3, 1e-3, np.nan, np.nan]
    np.testing.assert_array_equal(data.targets[:, 0], expected)
    assert data.task == "regression"
    assert "y" in data.note
    assert [r.row for r in data.dropped] == [35, 36]
    assert data.weights is not None
    assert set(data.weights) == {0.5}
    assert load(tmp_path / "t.csv").target_names == ("y", "w")


@pytest.mark.parametrize(
    "cells",
    [
        [f"{i + 1},{i:03}" for i in range(30)],
        [f"{y} %" for y in NUMBERS],
        [f"1.{i:03},5" for i in range(30)],
        [f"compound {i}" for i in range(30)],
        [f"€{i % 3}.5" for i in range(30)],
        [f"0.{i % 3 + 1}±0.1" for i in range(30)],
        [f"\u2212{i % 3}.5 µM" for i in range(30)],
    ],
    ids=["thousands or decimals", "per cent", "both", "unique words", "currency", "deviation", "unit"],
)
def test_what_is_hardly_a_class_is_not_made_one_silently(tmp_path: Path, cells: list[str]) -> None:
    path = write(tmp_path / "t.csv", *(f"{'C' * (i + 1)};{cell}" for i, cell in enumerate(cells)), header="smiles;y")
    with pytest.raises(DataError, match=r"'y'.*task='classification'"):
        load(path, target_columns="y")
    assert load(path, target_columns="y", task="classification").classes == tuple(sorted(set(cells)))


def test_words_and_grades_are_classes(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", *(f"{'C' * (i + 1)},{['1A', '2B', '3'][i % 3]}" for i in range(12)))
    assert load(path, target_columns="y").classes == ("1A", "2B", "3")


def test_the_minus_of_typesetting_is_one(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", *(f"{'C' * (i + 1)};\u2212{i},5" for i in range(12)), header="smiles;y")
    assert load(path, target_columns="y").targets[:, 0].tolist() == [-i - 0.5 for i in range(12)]


def test_a_target_that_is_named_twice_is_one(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", *(f"{'C' * (i + 1)},{i / 7}" for i in range(12)))
    assert load(path, target_columns=["y", "Y"]).target_names == ("y",)


def test_a_cell_of_many_digits_is_no_number(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "CCO," + "9" * 5000, "CC,1.5", "CCC,2.5", "CCCC,3.5")
    assert [r.row for r in load(path).dropped] == [1]


def test_standardised_molecules_are_one_molecule_and_changes_are_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "t.csv", "CC(=O)[O-].[Na+],1.5", "CC(=O)O,1.5", "CCO,0.5", "CCN,2.5")
    plain, parent = load(path), load(path, standardise="parent")
    assert plain.canonical is not None
    assert parent.canonical is not None
    assert plain.canonical[0] != plain.canonical[1]
    assert parent.canonical[0] == parent.canonical[1] == "CC(=O)O"
    assert parent.pack.sizes.tolist() == [4, 4, 3, 3]
    assert kinds(parent.noted) == [(1, "standardised")]
    assert parent.options["standardise"] == "parent"
    assert "standardise" not in plain.options
    assert "1 standardised" in str(parent)

    def fail(mol: Any, standard: str) -> Any:
        from ccn.errors import GraphError

        if mol.GetNumAtoms() == 3:
            raise GraphError("cannot be standardised: no reason")
        return mol

    monkeypatch.setattr("ccn.datasets.molecules.standardised", fail)
    assert kinds(load(path, standardise="parent").dropped) == [
        (3, "cannot be standardised"),
        (4, "cannot be standardised"),
    ]
    with pytest.raises(ConfigurationError, match="neutral"):
        load(path, standardise="neutral")


def test_the_store_knows_the_standard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CCN_CACHE", str(tmp_path / "cache"))
    path = write(tmp_path / "t.csv", "CC(=O)[O-].[Na+],1.5", "CCO,0.5", "CCN,2.5")
    for standard, atoms in ((None, 5), ("parent", 4), (None, 5), ("parent", 4)):
        assert load(path, store_from=0, standardise=standard).pack.sizes[0] == atoms


def test_censored_values_are_bounds_and_no_exact_values(tmp_path: Path) -> None:
    lines = ["CCO,1.5,1", "CCN,>10,2", "CCC,< 0.1,", "CCCC,~3,4", "CCCCO,>=7,<=5", "CO,high,>2"]
    data = load(write(tmp_path / "t.csv", *lines, header="smiles,y,z"))
    assert data.task == "regression"
    nan, inf = np.nan, np.inf
    np.testing.assert_array_equal(data.targets[:, 0], [1.5, nan, nan, 3, nan, nan])
    np.testing.assert_array_equal(data.targets[:, 1], [1, 2, nan, 4, nan, nan])
    assert data.bounds is not None
    np.testing.assert_array_equal(
        data.bounds[:, 0], [[nan, nan], [10, inf], [-inf, 0.1], [nan, nan], [7, inf], [nan, nan]]
    )
    assert kinds(data.noted) == [(6, "not a number in a target column")]  # its other target has a bound
    assert "y 3, z 2" in str(data)
    again = load(tmp_path / "t.csv", store_from=0)
    assert again.bounds is not None
    np.testing.assert_array_equal(again.bounds, data.bounds)
    one = data.with_targets(["z"]).subset([4])
    assert one.bounds is not None
    assert one.bounds.tolist() == [[[-inf, 5.0]]]
    assert load(write(tmp_path / "plain.csv", "CCO,1.5", "CCN,2.5")).bounds is None


def test_a_few_integers_with_bounds_are_numbers_and_words_stay_classes(tmp_path: Path) -> None:
    few = write(tmp_path / "few.csv", "CCO,1", "CCN,2", "CCC,1", "CO,2", "CN,>2", "CF,<1")
    assert load(few).task == "regression"
    words = write(tmp_path / "words.csv", "CCO,low", "CCN,low", "CCC,high", "CO,high", "CN,>2")
    data = load(words, target_columns="y")
    assert (data.task, data.bounds) == ("classification", None)
    groups = write(tmp_path / "groups.csv", "CCO,<30", "CCN,<30", "CCC,>30", "CO,>30")
    assert load(groups, task="classification").classes == ("<30", ">30")
    commas = load(write(tmp_path / "commas.csv", "CCO;1,5", "CCN;>0,25", "CCC;2,5", header="smiles;y"))
    assert commas.bounds is not None
    assert commas.bounds[1, 0, 0] == 0.25


def test_extra_columns_are_numbers_beside_the_molecule(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("smiles;pH;T;y\nCCO;7,5;20;1,5\nCC;acid;21;2,5\nCN;;22;3,5\nC;5,5;1e39;4,5\nO;5,5;23;4,5\n")
    assert find_schema(open_table(path)).targets == ("pH", "T", "y")
    assert find_schema(open_table(path), extra_columns=("pH", "t")).targets == ("y",)
    data = read_molecules(path, extra_columns=["pH", "T"])
    assert data.options["extra_columns"] == ["pH", "T"]
    np.testing.assert_array_equal(data.pack.graph_features, [[7.5, 20], [5.5, 23]])
    assert [(r.row, r.reason.partition(": ")[2]) for r in data.dropped] == [(2, "pH"), (3, "pH"), (4, "T")]
    for names, wrong in (
        ({"extra_columns": "y"}, "y"),
        ({"extra_columns": ["smiles"]}, "smiles"),
        ({"extra_columns": ["p"]}, "p"),
    ):
        with pytest.raises(ConfigurationError, match=f"'{wrong}'"):
            read_molecules(path, target_columns=["y"], **names)


def test_none_is_a_word_among_words_and_minus_beside_plus(tmp_path: Path) -> None:
    def classes(*cells: str) -> tuple[Any, list[float], str]:
        molecules = [f"{'C' * (1 + i)}O" for i in range(2 * len(cells))]
        data = load(write(tmp_path / "t.csv", *(f"{m},{c}" for m, c in zip(molecules, cells * 2, strict=True))))
        return data.classes, data.targets[: len(cells), 0].tolist(), data.note

    found, values, note = classes("none", "mild", "NA", "-")
    assert (found, values[:2]) == (("mild", "none"), [1.0, 0.0])
    assert np.isnan(values[2:]).all()
    assert "none" in note
    assert classes("+", "-", "+")[:2] == (("+", "-"), [0.0, 1.0, 0.0])
    found, values, note = classes("1.5", "none", "-", "2.5")
    assert (found, note) == ((), "")
    assert np.isnan(values[1:3]).all()

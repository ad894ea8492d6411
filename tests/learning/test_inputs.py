"""How graphs are read: the same way whatever they come from, and never of another kind than those of training."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rdkit import Chem

import ccn
from ccn.chemistry.smiles import MOST_ATOMS
from ccn.errors import ConfigurationError, GraphError
from ccn.learning.inputs import Inputs, as_list, read

SMILES = ["CCO", "c1ccccc1", "C"]


def test_every_source_gives_the_same_graphs() -> None:
    inputs = Inputs("atoms").fit("given", read(SMILES, "atoms", False)[0])
    one = inputs.read(SMILES)
    for other in (inputs.read([Chem.MolFromSmiles(s) for s in SMILES]), inputs.parse(SMILES)[0]):
        assert other is not None
        for key in ("vertex_start", "features", "row", "column"):
            np.testing.assert_array_equal(other.arrays[key], one.arrays[key])


def test_parsing_says_why_a_row_is_left_out() -> None:
    graphs, good, bad = Inputs("element").parse(["CCO", "C1CC", "", "O"])
    assert graphs is not None
    assert (len(graphs), good) == (2, [0, 3])
    assert [i for i, _ in bad] == [1, 2]
    assert all(reason for _, reason in bad)
    assert Inputs("element").parse(["nonsense"])[0] is None
    assert "edge_features" in graphs.arrays
    bare = Inputs("element").parse(["CCO"], bonds=False)[0]
    assert bare is not None
    assert bare.arrays["edge_features"].shape[1] == 0


def test_graphs_of_another_kind_are_refused() -> None:
    inputs = Inputs().fit("given", ccn.Pack.of([ccn.Graph(n=2, features=np.zeros((2, 3)))]))
    with pytest.raises(GraphError, match="width 1"):
        inputs.read([ccn.Graph(n=2)])
    with pytest.raises(ConfigurationError, match="molecules"):
        inputs.read(["CCO"])


def test_the_limit_of_atoms_is_that_of_training() -> None:
    inputs = Inputs.from_dict(Inputs("element", max_atoms=2).to_dict())
    assert inputs.parse(["CC", "CCO"])[1] == [0]
    with pytest.raises(GraphError, match="row 1"):
        inputs.read(["CC", "CCO"])
    assert Inputs.from_dict(Inputs("element", max_atoms=10**9).to_dict()).max_atoms == MOST_ATOMS


@pytest.mark.parametrize("blank", [None, float("nan")])
def test_a_blank_cell_among_molecules_is_said_to_be_missing(blank: Any) -> None:
    with pytest.raises(ConfigurationError, match="row 1 is missing"):
        read(["CCO", blank], "element", False)


def test_it_comes_back_from_plain_data() -> None:
    inputs = Inputs("compact", True).fit("histograms", read(SMILES, "compact", True)[0])
    again = Inputs.from_dict(inputs.to_dict())
    assert again == inputs
    with pytest.raises(ConfigurationError, match="smell"):
        Inputs.from_dict({**inputs.to_dict(), "molecules": "smell"})


def test_lists_of_all_kinds() -> None:
    assert as_list(np.array(SMILES, dtype=object)[:, None]) == SMILES
    with pytest.raises(ConfigurationError, match="list"):
        as_list("CCO")
    with pytest.raises(ConfigurationError, match=r"\(2, 3\)"):
        as_list(np.zeros((2, 3)))


def test_the_standard_form_is_that_of_training() -> None:
    salt, acid = "CC(=O)[O-].[Na+]", "CC(=O)O"
    inputs = Inputs.from_dict(Inputs("element", standardise="parent").to_dict())
    assert inputs.standardise == "parent"
    assert "standardise" not in Inputs("element").to_dict()
    for rows in ([salt], [Chem.MolFromSmiles(salt)]):
        assert inputs.read(rows).sizes.tolist() == [4]
        assert read(rows, "element", False, standardise="parent", canonical=True)[2] == [acid]
    parsed = inputs.parse([salt, acid])[0]
    assert parsed is not None
    assert parsed.sizes.tolist() == [4, 4]
    with pytest.raises(ConfigurationError, match="neutral"):
        Inputs.from_dict({**inputs.to_dict(), "standardise": "neutral"})


def test_a_data_set_of_another_standard_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("smiles,y\nCC(=O)[O-].[Na+],1.5\nCCO,0.5\nCCN,2.5\n")
    inputs = Inputs.of_dataset(ccn.datasets.load(path, standardise="parent"))
    assert len(inputs.read(ccn.datasets.load(path, standardise="parent"))) == 3
    with pytest.raises(ConfigurationError, match="standardise"):
        inputs.read(ccn.datasets.load(path))


def _table(path: Path, name: str = "pH") -> Path:
    path.write_text(f"smiles,{name},T,y\nCCO,7.5,20,1.5\nCC,6,21,2.5\nCN,,22,3.5\nC,5.5,23,4.5\n")
    return path


@pytest.mark.parametrize("molecules", ["compact", "element+morgan"])
def test_columns_of_a_table_stand_behind_the_features_of_the_molecule(molecules: str, tmp_path: Path) -> None:
    data = ccn.datasets.load(
        _table(tmp_path / "t.csv"), target_columns="y", features=molecules, extra_columns=["T", "pH"]
    )
    inputs = Inputs.of_dataset(data).fit("given", data.pack)
    place = inputs.columns_of()["columns"]
    assert inputs.graph_names[place] == ("columns.T", "columns.pH")
    assert len(inputs.graph_names) == data.pack.graph_features.shape[1] == place.stop
    assert data.pack.graph_features.dtype == np.float32
    np.testing.assert_array_equal(data.pack.graph_features[:, place], [[20, 7.5], [21, 6], [23, 5.5]])
    numbers = np.array([[20, 7.5], [21, 6], [22, np.nan], [1, 2], [23, 5.5]], dtype=np.float32)
    graphs, good, bad = inputs.parse(["CCO", "CC", "CN", "C1", "C"], columns=numbers)
    assert graphs is not None
    assert good == [0, 1, 4]
    assert [(i, "pH" in why) for i, why in sorted(bad)] == [(2, True), (3, False)]
    np.testing.assert_array_equal(graphs.graph_features, data.pack.graph_features)
    assert inputs.parse(["CN"], columns=numbers[2:3])[0] is None
    np.testing.assert_array_equal(inputs.read(data).graph_features, data.pack.graph_features)


def test_columns_that_are_missing_are_named(tmp_path: Path) -> None:
    how: dict[str, Any] = {"target_columns": "y", "features": "element"}
    table = _table(tmp_path / "t.csv")
    data = ccn.datasets.load(table, extra_columns=["pH"], **how)
    inputs = Inputs.of_dataset(data).fit("given", data.pack)
    for ask in (lambda: inputs.read(["CCO"]), lambda: inputs.parse(["CCO"])):
        with pytest.raises(ConfigurationError, match="pH"):
            ask()
    with pytest.raises(ConfigurationError, match=r"columns\.pH"):
        inputs.read(ccn.datasets.load(table, **how))
    more = ccn.datasets.load(_table(tmp_path / "u.csv", "PH"), extra_columns=["T", "ph"], **how)
    np.testing.assert_array_equal(inputs.read(more).graph_features, data.pack.graph_features)


def test_columns_and_names_are_part_of_the_file(tmp_path: Path) -> None:
    data = ccn.datasets.load(
        _table(tmp_path / "t.csv"), target_columns="y", features="full+descriptors", extra_columns=["pH"]
    )
    inputs = Inputs.of_dataset(data).fit("given", data.pack)
    written = json.loads(json.dumps(inputs.to_dict()))
    assert Inputs.from_dict(written) == inputs
    old = {key: value for key, value in written.items() if key not in ("columns", "properties")}
    assert Inputs.from_dict(old) == replace(inputs, columns=())
    for key, value in {"fingerprints": {"descriptors": ["MolWt"]}, "vertex_names": ["element=C"]}.items():
        with pytest.raises(ConfigurationError, match=key):
            Inputs.from_dict({**written, "properties": {**written["properties"], key: value}})


@pytest.mark.parametrize(
    ("molecules", "columns", "dense"),
    [
        ("full+descriptors+morgan", ("pH", "T"), ("descriptors.", "columns.")),
        ("element+morgan+erg", ("pH",), ("columns.",)),
        ("element+avalon", (), ("none",)),
    ],
)
def test_dense_columns_are_descriptors_and_those_of_the_table(
    molecules: str, columns: tuple[str, ...], dense: tuple[str, ...]
) -> None:
    inputs = Inputs(molecules, columns=columns)
    graphs = inputs.parse(SMILES, columns=np.ones((3, len(columns)), np.float32))[0]
    assert graphs is not None
    expected = [i for i, name in enumerate(inputs.graph_names) if name.startswith(dense)]
    assert inputs.dense_columns(graphs).tolist() == expected


def test_all_columns_are_dense_where_they_have_no_names() -> None:
    bare = ccn.Pack.of([ccn.Graph([(0, 1)], n=2)])
    for inputs in (Inputs(), Inputs("own")):
        assert inputs.dense_columns(bare.with_graph_features(np.ones((1, 3)))).tolist() == [0, 1, 2]
        assert inputs.dense_columns(bare).tolist() == []
    assert Inputs("element+descriptors").dense_columns(bare).tolist() == []


def test_stereo_columns_tell_mirror_images_apart() -> None:
    atoms, bonds = Inputs("full+morgan").stereo_columns()
    for pair, key, columns in (
        (["C[C@H](N)O", "C[C@@H](N)O"], "features", atoms),
        (["F/C=C/F", "F/C=C\\F"], "edge_features", bonds),
    ):
        one, other = (read([smiles], "full", False)[0].arrays[key] for smiles in pair)
        differ = np.flatnonzero((one != other).any(axis=0)).tolist()
        assert differ
        assert set(differ) <= set(columns)
    for inputs in (Inputs("atoms"), Inputs(), Inputs("own")):
        assert inputs.stereo_columns() == ((), ())


def test_an_example_has_all_that_the_inputs_name() -> None:
    inputs = Inputs("element+descriptors", columns=("pH", "T"), max_atoms=1, standardise="parent")
    assert inputs.example().graph_width == len(inputs.graph_names)
    graphs = Inputs(vertex_names=("label=1", "label=2"), edge_names=("label=0",)).example()
    assert (graphs.width, graphs.edge_width) == (2, 1)


def test_a_data_frame_may_have_the_columns_beside_the_molecule(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    table = _table(tmp_path / "t.csv")
    data = ccn.datasets.load(table, target_columns="y", features="full+descriptors", extra_columns=["T", "pH"])
    frame = pd.read_csv(table).dropna(ignore_index=True)
    inputs = Inputs.of_dataset(data)
    for rows, given in ((frame[["smiles", "pH", "T"]], None), (frame["smiles"], frame)):
        read = inputs.read(rows, table=given)
        np.testing.assert_array_equal(read.graph_features, data.pack.graph_features)
    with pytest.raises(ConfigurationError, match="T, pH"):
        inputs.read(frame[["smiles", "pH"]])
    frame.loc[1, "T"] = np.nan
    with pytest.raises(ConfigurationError, match=r"row 1 .*'T'"):
        inputs.read(frame)

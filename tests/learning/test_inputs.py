"""How graphs are read: the same way whatever they come from, and never of another kind than those of training."""

from __future__ import annotations

from pathlib import Path

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

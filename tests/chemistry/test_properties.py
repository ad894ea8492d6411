"""Features of atoms and bonds against what RDKit says, one atom at a time."""

import json
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from rdkit import Chem

from ccn import Graph, Pack
from ccn.chemistry import properties
from ccn.chemistry.properties import BOND_ORDERS, ELEMENTS, SETS
from ccn.errors import ConfigurationError, GraphError
from ccn.features import MoleculeFeatures, Property, molecule_features
from ccn.methods.kernels.parts import kinds

SMILES = [
    "C",
    "[Na+].[Cl-]",
    "[H][H]",
    "c1ccccc1O",
    "CC(=O)[O-]",
    "N#CC=CO[Na]",
    "C[N+](C)(C)C",
    "FS(F)(F)(F)(F)F",
    "O=c1[nH]cnc2ccccc12",
    "[Fe+3]",
    "N->[Pt](Cl)Cl",
]


STEREO = ["C[C@H](F)Cl", "F/C=C/F", "C[C@@H](O)/C=C\\C", "C1C[C@H](C)C[C@@H](C)C1"]
QUERIES = ["*C", "C~C", "C" * 256]


def molecule(smiles: str) -> Any:
    return Chem.MolFromSmiles(smiles)


@pytest.mark.parametrize("hydrogens", [False, True])
@pytest.mark.parametrize("bonds", [True, False])
@pytest.mark.parametrize("name", sorted(SETS))
def test_many_molecules_at_once_give_what_each_gives(name: str, bonds: bool, hydrogens: bool) -> None:
    chosen = molecule_features(name, hydrogens)
    chosen = chosen if bonds else replace(chosen, bond=())
    mols = [chosen.molecule(molecule(smiles)) for smiles in [*SMILES, *STEREO]]
    for more in ([], [molecule(smiles) for smiles in QUERIES]):  # what is not in records is asked for
        every = [*more, *mols, *more]
        one_by_one = properties.Tables.of([replace(chosen, hydrogens=False).arrays(mol) for mol in every])
        together = replace(chosen, hydrogens=False).tables([mol.ToBinary(0) for mol in every], every.__getitem__)
        for a, b in zip(one_by_one, together, strict=True):
            assert a.dtype == b.dtype
            assert np.array_equal(a, b)


def test_properties_of_your_own_are_not_read_from_records() -> None:
    mine = MoleculeFeatures("mine", (Property("mass", "GetMass"),), ())
    assert not mine.stored
    assert mine.stereo  # who knows what it reads
    assert molecule_features("full").stored
    assert molecule_features("full").stereo
    assert not molecule_features("compact").stereo


@pytest.mark.parametrize("smiles", SMILES)
@pytest.mark.parametrize("hydrogens", [False, True])
@pytest.mark.parametrize("name", sorted(SETS))
def test_shapes_names_and_one_column_per_listed_property(name: str, hydrogens: bool, smiles: str) -> None:
    chosen = molecule_features(name, hydrogens)
    features, edges, edge_features = chosen.arrays(molecule(smiles))
    mol = Chem.AddHs(molecule(smiles)) if hydrogens else molecule(smiles)
    assert features.shape == (mol.GetNumAtoms(), len(chosen.vertex_names))
    assert edges.shape == (mol.GetNumBonds(), 2)
    assert edge_features.shape == (mol.GetNumBonds(), len(chosen.edge_names))
    assert features.dtype == np.uint8
    assert edge_features.dtype == (np.uint8 if all(p.values for p in chosen.bond) else np.float32)
    assert [{b.GetBeginAtomIdx(), b.GetEndAtomIdx()} for b in mol.GetBonds()] == [set(e) for e in edges.tolist()]
    for p in chosen.atom:
        columns = [chosen.vertex_names.index(c) for c in p.columns]
        if p.other:
            assert (features[:, columns].sum(1) == 1).all()
        for row, atom in zip(features[:, columns], mol.GetAtoms(), strict=True):
            value = p.reader(atom)
            on = [c for c, x in zip(p.columns, row, strict=True) if x]
            expected = f"{p.name}={value}" if value in p.values else f"{p.name}=other"
            assert on == ([expected] if expected in p.columns else [])


def test_elements_and_bond_orders_as_they_have_always_been() -> None:
    mol = molecule("N#CC=CO[Na]")
    features, _, edge_features = molecule_features().arrays(mol)
    known = [*ELEMENTS, "other"]
    assert [known[i] for i in features.argmax(1)] == ["N", "C", "C", "C", "O", "other"]
    assert [BOND_ORDERS[i] for i in edge_features.argmax(1)] == [3.0, 1.0, 2.0, 1.0, 1.0]
    # A dative bond has none of the listed orders: zeros here, a column of its own in the richer set.
    dative = molecule("N->[Pt](Cl)Cl")
    assert molecule_features().arrays(dative)[2].sum(1).tolist() == [1, 1, 1]
    rich = molecule_features("atoms")
    zero = Chem.RWMol(dative)
    zero.GetBondWithIdx(0).SetBondType(Chem.BondType.ZERO)
    Chem.SanitizeMol(zero)
    assert molecule_features().arrays(zero)[2][0].sum() == 0
    assert rich.arrays(zero)[2][0, rich.edge_names.index("order=other")] == 1


def on(chosen: MoleculeFeatures, row: np.ndarray) -> set[str]:
    return {c for c, x in zip(chosen.vertex_names, row, strict=True) if x}


def test_what_the_rich_set_says_of_known_atoms() -> None:
    rich = molecule_features("atoms")
    phenolate = rich.arrays(molecule("[O-]c1ccccc1"))[0]
    shared = {"degree=1", "hydrogens=0"}
    assert on(rich, phenolate[0]) == {"element=O", "charge=-1", "hybridisation=SP2", *shared}
    ring = {"element=C", "charge=0", "hybridisation=SP2", "aromatic=True", "ring=True", "degree=2", "hydrogens=1"}
    assert on(rich, phenolate[2]) == ring
    iron = rich.arrays(molecule("[Fe+3]"))[0][0]
    assert {"element=other", "charge=other", "degree=0"} <= on(rich, iron)
    hexafluoride = rich.arrays(molecule("FS(F)(F)(F)(F)F"))[0][1]
    assert {"degree=6", "hybridisation=SP3D2"} <= on(rich, hexafluoride)
    bonds = rich.arrays(molecule("c1ccccc1C"))[2]
    assert [rich.edge_names[i] for i in np.flatnonzero(bonds[0])] == ["order=1.5", "conjugated=True", "ring=True"]
    assert [rich.edge_names[i] for i in np.flatnonzero(bonds[-2])] == ["order=1.0"]


def test_hydrogens_are_added_inside_and_heavy_atoms_keep_their_count_of_them() -> None:
    light, full = molecule_features("atoms"), molecule_features("atoms", hydrogens=True)
    mol = molecule("CO")
    heavy, every = light.arrays(mol)[0], full.arrays(mol)[0]
    assert (len(heavy), len(every)) == (2, 6)
    columns = [i for i, c in enumerate(light.vertex_names) if c.startswith("hydrogens=")]
    assert np.array_equal(heavy[:, columns], every[:2, columns])
    assert mol.GetNumAtoms() == 2
    assert full.molecule(mol).GetNumAtoms() == 6


def test_numbering_of_the_atoms_does_not_matter() -> None:
    chosen = molecule_features("atoms")
    mol = molecule("CC(=O)Oc1ccccc1C(=O)O")
    order = np.random.default_rng(0).permutation(mol.GetNumAtoms())
    renamed = Chem.RenumberAtoms(mol, order.tolist())
    assert np.array_equal(chosen.arrays(renamed)[0], chosen.arrays(mol)[0][order])


def _mass(atom: Any) -> Any:
    return atom.GetMass()


def test_a_set_of_ones_own_may_hold_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    rich = molecule_features("atoms")
    mine = MoleculeFeatures("mine", atom=(*rich.atom, Property("mass", _mass)), bond=rich.bond)
    features, _, edge_features = mine.arrays(molecule("CO"))
    assert features.dtype == np.float32
    assert edge_features.dtype == np.uint8
    assert mine.vertex_names[-1] == "mass"
    np.testing.assert_allclose(features[:, -1], [12.011, 15.999], rtol=1e-4)
    np.testing.assert_array_equal(features[:, :-1], rich.arrays(molecule("CO"))[0])
    assert molecule_features(mine, hydrogens=True).hydrogens
    assert Graph.from_smiles("CO", features=mine).features.shape[1] == len(mine.vertex_names)
    monkeypatch.setitem(SETS, "mine", mine)
    assert molecule_features("mine") is mine


@pytest.mark.parametrize("smiles", [*SMILES, "C" * 300])
def test_without_properties_of_bonds_the_same_pairs_are_bonded(smiles: str) -> None:
    whole, bare = molecule_features("element"), replace(molecule_features("element"), bond=())
    assert whole.perceived
    assert not bare.perceived
    features, edges, edge_features = whole.arrays(molecule(smiles))
    found = bare.arrays(molecule(smiles))
    assert np.array_equal(found[0], features)
    assert sorted(map(sorted, found[1].tolist())) == sorted(map(sorted, edges.tolist()))
    assert found[2].shape == (len(edge_features), 0)


def test_an_unknown_name_is_an_error_that_lists_the_known() -> None:
    with pytest.raises(ConfigurationError, match=r"'atom'.* element, atoms"):
        molecule_features("atom")
    with pytest.raises(ConfigurationError):
        MoleculeFeatures("empty", (), ())


def test_a_molecule_that_was_not_sanitised_is_an_error_for_what_needs_it() -> None:
    raw = Chem.MolFromSmiles("CC", sanitize=False)
    assert len(molecule_features("element").arrays(raw)[0]) == 2
    with pytest.raises(GraphError, match="'atoms'"):
        molecule_features("atoms").arrays(raw)
    with pytest.raises(GraphError, match=r"^graph x7: "):
        Graph.from_rdkit(raw, features="atoms", name="x7")


def test_a_set_goes_to_other_processes_and_comes_back_equal() -> None:
    chosen = molecule_features("atoms", hydrogens=True)
    chosen.arrays(molecule("CCO"))
    assert pickle.loads(pickle.dumps(chosen)) == chosen


def test_what_is_written_is_read_back_and_other_columns_are_refused() -> None:
    for chosen in (molecule_features("element"), molecule_features("atoms", hydrogens=True)):
        written = json.loads(json.dumps(chosen.to_json()))
        assert molecule_features(written) == chosen
        written["edge_names"] = written["edge_names"][1:]
        with pytest.raises(ConfigurationError, match="edge_names"):
            molecule_features(written)
    with pytest.raises(ConfigurationError, match="'mine'"):
        molecule_features({"name": "mine"})


@pytest.mark.parametrize(
    ("smiles", "number"),
    [
        ("O=[N+]([O-])c1cccc2ccccc12", 39),
        ("O=[N+]([O-])c1ccc2ncccc2c1", 18),
        ("O=[N+]([O-])c1ccc2c(c1)Cc1ccccc1-2", 71),
    ],
)
def test_molecules_are_read_as_the_graphs_of_mutag(smiles: str, number: int) -> None:
    """1-nitronaphthalene, 6-nitroquinoline and 2-nitrofluorene are among them, with labels and all."""
    networkx = pytest.importorskip("networkx")
    from ccn.datasets import load

    def labelled(graph: Graph) -> object:
        made = networkx.Graph()
        made.add_nodes_from((i, {"x": row}) for i, row in enumerate(graph.features.tolist()))
        assert graph.edge_features is not None
        made.add_edges_from(
            (int(a), int(b), {"x": row})
            for (a, b), row in zip(graph.edges.tolist(), graph.edge_features.tolist(), strict=True)
        )
        return made

    def same(a: dict[str, object], b: dict[str, object]) -> bool:
        return a == b

    found, known = labelled(Graph.from_smiles(smiles, features="mutag")), labelled(load("MUTAG").graphs[number])
    assert networkx.is_isomorphic(found, known, node_match=same, edge_match=same)


STEREO = [
    "C[C@H](N)C(=O)O",
    "C/C(F)=C/CC1CC1",
    "C[C@H]1CC[C@@H](C)CC1",
    "[2H]C(C)(C)C1CCCCCCCC1",
    "OC[C@H]1O[C@@H](O)C[C@@H]1O",
]


def _bonds(mol: Any) -> dict[frozenset[int], list[float]]:
    _, edges, rows = molecule_features("full").arrays(mol)
    return {frozenset(e): row for e, row in zip(edges.tolist(), rows.tolist(), strict=True)}


@pytest.mark.parametrize("smiles", STEREO)
@pytest.mark.parametrize("seed", range(3))
def test_the_full_set_does_not_depend_on_the_numbering(smiles: str, seed: int) -> None:
    mol = molecule(smiles)
    order = np.random.default_rng(seed).permutation(mol.GetNumAtoms()).tolist()
    other = Chem.RenumberAtoms(molecule(smiles), order)
    features, again = (molecule_features("full").arrays(m)[0] for m in (mol, other))
    np.testing.assert_array_equal(again, features[order])
    assert _bonds(mol) == {frozenset(order[i] for i in pair): row for pair, row in _bonds(other).items()}
    for a, b in zip(*(kinds(Pack.of([Graph.from_rdkit(m, features="full")]), 2, 2) for m in (mol, other)), strict=True):
        np.testing.assert_array_equal(b, a[order])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)O"),  # mirror images
        ("C/C=C/C", "C/C=C\\C"),  # E and Z
        ("C/C=C/C", "CC=CC"),
        ("C[C@H]1CC[C@@H](C)CC1", "C[C@H]1CC[C@H](C)CC1"),  # cis and trans
        ("CC", "[13CH3]C"),
        ("C1CCCCCC1", "C1CCCCCCC1"),
    ],
)
def test_the_full_set_tells_stereochemistry_isotopes_and_rings_apart(one: str, other: str) -> None:
    def seen(name: str, smiles: str) -> list[Any]:
        features, _, edge_features = molecule_features(name).arrays(molecule(smiles))
        return [sorted({tuple(row) for row in part.tolist()}) for part in (features, edge_features)]

    assert seen("full", one) != seen("full", other)
    assert seen("compact", one) == seen("compact", other)


def test_what_the_full_set_says() -> None:
    full = molecule_features("full")
    assert full.edge_names == ("order", "stereo")
    assert (
        full.vertex_names[: len(molecule_features("compact").vertex_names)] == molecule_features("compact").vertex_names
    )

    def on(smiles: str, what: str) -> list[str]:
        rows = full.arrays(molecule(smiles))[0]
        found = [[c for c, x in zip(full.vertex_names, row, strict=True) if x and c.startswith(what)] for row in rows]
        return [",".join(row) for row in found]

    assert on("C[C@H](N)O", "chirality") == ["", "chirality=R", "", ""]
    assert on("C1CC1C1CCCCCCCC1", "ring_size") == ["ring_size=3"] * 3 + ["ring_size=8+"] * 9
    assert on("[13CH3]C", "isotope") == ["isotope=True", ""]
    assert [full.arrays(molecule(s))[2][1].tolist() for s in ("C/C=C/C", "C/C=C\\C")] == [[2, 1], [2, -1]]


def test_labels_that_take_too_long_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    mol, full = "C[C@H](O)[C@@H](CCC)[C@H](CCO)CCO", molecule_features("full")
    columns = [i for i, name in enumerate(full.vertex_names) if name.startswith("chirality")]
    assert full.arrays(molecule(mol))[0][:, columns].sum() > 0
    monkeypatch.setattr(properties, "_CIP_STEPS", 1)
    assert full.arrays(molecule(mol))[0][:, columns].sum() == 0

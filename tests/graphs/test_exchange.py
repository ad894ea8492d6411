"""Graphs from and to arrays, NetworkX, PyG and RDKit."""

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rdkit import Chem

import ccn
from ccn import Graph
from ccn.chemistry.properties import BOND_ORDERS, ELEMENTS
from ccn.errors import GraphError
from ccn.graphs import exchange as interop
from ccn.testing import random_graph

seeds, sizes = st.integers(0, 10**6), st.integers(1, 6)
FORMATS: list[Callable[[Any], Any]] = [np.asarray, torch.as_tensor, sp.csr_array, sp.coo_matrix, sp.csc_matrix]


@pytest.fixture(scope="module")
def pyg() -> Any:
    """PyG's data module; importorskip also silences what its import warns about."""
    return pytest.importorskip("torch_geometric.data")


def _same(a: Graph, b: Graph) -> None:
    assert (a.n, a.matrix_class) == (b.n, b.matrix_class)
    np.testing.assert_array_equal(a.entries, b.entries)
    torch.testing.assert_close(a.adjacency(), b.adjacency())
    torch.testing.assert_close(a.features, b.features)


@pytest.mark.parametrize("convert", FORMATS)
@given(seed=seeds, n=sizes, directed=st.booleans(), self_loops=st.booleans())
@settings(deadline=None, max_examples=8)
def test_adjacency_matrices_round_trip(
    convert: Callable[[Any], Any], seed: int, n: int, directed: bool, self_loops: bool
) -> None:
    g = random_graph(n, np.random.default_rng(seed), weighted=True, directed=directed, self_loops=self_loops)
    a = convert(g.adjacency().numpy())
    _same(Graph.from_adjacency(a, g.features, directed=directed, self_loops=self_loops), g)


def test_a_sparse_matrix_may_hold_explicit_zeros_and_duplicates() -> None:
    a = sp.coo_matrix(([1.0, 1.0, 2.0, 0.0], ([0, 0, 1, 2], [1, 1, 0, 0])), shape=(3, 3))
    assert Graph.from_adjacency(a).adjacency().tolist() == [[0, 2, 0], [2, 0, 0], [0, 0, 0]]


def test_a_dense_matrix_passes_its_gradient_on_and_integers_become_floats() -> None:
    a = torch.tensor([[0.0, 2.0], [2.0, 0.0]], requires_grad=True)
    total = (Graph.from_adjacency(a).adjacency() * torch.tensor([[0.0, 3.0], [5.0, 0.0]])).sum()
    assert torch.autograd.grad(total, a)[0].tolist() == [[0, 3], [5, 0]]
    assert Graph.from_adjacency([[0, 1], [1, 0]]).adjacency().dtype == torch.float32


@pytest.mark.parametrize("convert", FORMATS)
@pytest.mark.parametrize(
    ("a", "message"),
    [
        ([[0.0, 1.0], [0.0, 0.0]], r"A\[1, 0\] is 0 but A\[0, 1\] .*directed=True"),
        ([[0.0, 1.0], [2.0, 0.0]], r"\(0, 1\) .* \(1, 0\) .* weights .*directed=True"),
        ([[0.0, 0.0], [0.0, 1.0]], r"\(1, 1\) .*self_loops=True"),
        ([[0.0, 0.0, 0.0], [0.0, 0.0, np.nan], [0.0, np.nan, 0.0]], r"(\(1, 2\)|\(2, 1\)) .*nan"),
        ([[0.0, np.inf], [1.0, 0.0]], r"\(0, 1\) .*inf"),
        ([[0.0, 1j], [1j, 0.0]], "complex"),
        ([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], r"\(2, 3\)"),
    ],
)
def test_a_bad_matrix_is_an_error(convert: Callable[[Any], Any], a: list[list[complex]], message: str) -> None:
    with pytest.raises(GraphError, match=f"^graph aspirin: .*{message}"):
        Graph.from_adjacency(convert(np.array(a)), name="aspirin")


@pytest.mark.parametrize("a", [[["a"]], [[0, 1], [1]], None, [[None]], np.zeros((1, 1), dtype=object)])
def test_a_matrix_of_something_else_than_numbers_is_an_error(a: Any) -> None:
    with pytest.raises(GraphError, match=r"^graph aspirin: "):
        Graph.from_adjacency(a, name="aspirin")


@given(seed=seeds, n=sizes, directed=st.booleans(), self_loops=st.booleans())
@settings(deadline=None, max_examples=20)
def test_networkx_round_trips(seed: int, n: int, directed: bool, self_loops: bool) -> None:
    rng = np.random.default_rng(seed)
    g = random_graph(n, rng, weighted=True, directed=directed, self_loops=self_loops, edge_features=2)
    assert g.weights is not None
    assert g.edge_features is not None
    g = Graph(
        g.edges,
        g.features.float(),
        weights=g.weights.float(),
        edge_features=g.edge_features.float(),
        directed=directed,
        self_loops=self_loops,
    )
    out = interop.to_networkx(g)
    np.testing.assert_allclose(nx.to_numpy_array(out), g.adjacency().numpy())
    again = Graph.from_networkx(out, directed=directed, self_loops=self_loops)
    _same(again, g)
    if len(g.edges):
        assert g.edge_features is not None
        assert again.edge_features is not None
        torch.testing.assert_close(again.edge_features[again.entry_edge], g.edge_features[g.entry_edge])


def test_networkx_vertices_are_numbered_in_node_order_and_attributes_chosen_by_name() -> None:
    g = nx.Graph()
    g.add_node("b", colour=[1.0, 2.0])
    g.add_node("a", colour=[3.0, 4.0])
    g.add_edge("a", "b", strength=7.0)
    ours = Graph.from_networkx(g, features="colour", weight="strength")
    assert ours.features.tolist() == [[1, 2], [3, 4]]
    assert ours.adjacency().tolist() == [[0, 7], [7, 0]]
    assert Graph.from_networkx(g).features.tolist() == [[1], [1]]
    bonded = Graph.from_networkx(g, edge_features="strength")
    assert bonded.edge_features is not None
    assert bonded.edge_features.tolist() == [[7]]
    assert Graph.from_networkx(interop.to_networkx(bonded), edge_features=None).edge_features is None


def test_an_undirected_networkx_graph_read_as_directed_has_every_edge_both_ways() -> None:
    g = nx.Graph()
    g.add_edge(0, 1, weight=2.0, edge_features=[5.0])
    g.add_edge(1, 1, weight=3.0, edge_features=[6.0])
    ours = Graph.from_networkx(g, directed=True, self_loops=True)
    assert ours.adjacency().tolist() == nx.to_numpy_array(g).tolist() == [[0, 2], [2, 3]]
    assert ours.edge_features is not None
    assert ours.edge_features[ours.entry_edge].tolist() == [[5], [5], [6]]
    assert Graph.from_networkx(nx.DiGraph([(0, 1)]), directed=True).adjacency().tolist() == [[0, 1], [0, 0]]


def test_networkx_arrays_and_tensors_keep_their_dtype_and_lists_take_the_default() -> None:
    w = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    for row, dtype in [
        (np.array([0.1, 1.0]), torch.float64),
        (np.array([0.1, 1.0], dtype=np.float32), torch.float32),
        (torch.tensor([0.1, 1.0], dtype=torch.float64), torch.float64),
        ([0.1, 1.0], torch.float32),
        ([1, 0], torch.float32),
        (7, torch.float32),
    ]:
        g = nx.Graph()
        g.add_nodes_from([0, 1], x=row)
        g.add_edge(0, 1, weight=w, edge_features=row)
        ours = Graph.from_networkx(g)
        assert ours.edge_features is not None
        assert ours.features.dtype == ours.edge_features.dtype == dtype
        torch.testing.assert_close(ours.features[0], torch.as_tensor(row, dtype=dtype).reshape(-1))
        assert torch.autograd.grad(ours.adjacency().sum(), w)[0] == 2


@pytest.mark.parametrize(
    ("nodes", "edge", "message"),
    [
        (([1.0], [1.0, 2.0]), {}, r".*'x' of node 'b' .* \(2,\), .* node 'a' \(1,\)"),
        (("a", "b"), {}, ".*'x' of node 'a'"),
        (([1.0], "b"), {}, ".*'x' of node 'b'"),
        (([1.0], [[1.0], [2.0, 3.0]]), {}, ".*'x' of node 'b'"),
        (([1.0], [np.nan]), {}, ".*'x' of node 'b'"),
        ((1.0, 2.0), {"weight": "a"}, r".*'weight' of edge \('a', 'b'\)"),
        ((1.0, 2.0), {"edge_features": {}}, r".*'edge_features' of edge \('a', 'b'\)"),
    ],
)
def test_networkx_attributes_that_are_no_numbers_are_errors_that_name_the_owner(
    nodes: Any, edge: dict[str, Any], message: str
) -> None:
    g = nx.Graph()
    g.add_node("a", x=nodes[0])
    g.add_node("b", x=nodes[1])
    g.add_edge("a", "b", **edge)
    with pytest.raises(GraphError, match=f"^graph 1: {message}"):
        ccn.batch([nx.path_graph(2), g])


def test_networkx_graphs_that_do_not_fit_are_errors() -> None:
    half = nx.path_graph(2)
    half.nodes[0]["x"] = [1.0]
    uneven = nx.path_graph(3)
    uneven.edges[0, 1]["edge_features"] = [1.0]
    for g, message in [
        (nx.MultiGraph([(0, 1), (0, 1)]), "multigraph"),
        (nx.DiGraph([(0, 1)]), "directed=True"),
        (nx.Graph([(0, 0)]), "self_loops=True"),
        (half, "node 1 .*'x'"),
        (uneven, r"edge \(1, 2\) .*'edge_features'"),
    ]:
        with pytest.raises(GraphError, match=f"^graph 2: .*{message}"):
            ccn.batch([nx.path_graph(2), nx.path_graph(2), g])


@given(seed=seeds, n=sizes, directed=st.booleans(), self_loops=st.booleans())
@settings(deadline=None, max_examples=20)
def test_pyg_round_trips(pyg: Any, seed: int, n: int, directed: bool, self_loops: bool) -> None:
    rng = np.random.default_rng(seed)
    g = random_graph(n, rng, weighted=True, directed=directed, self_loops=self_loops, edge_features=2, density=0.7)
    data = interop.to_pyg(g)
    assert isinstance(data, pyg.Data)
    assert data.edge_index.shape[1] == g.entries.shape[1]
    again = Graph.from_pyg(data, directed=directed, self_loops=self_loops)
    _same(again, g)
    assert g.edge_features is not None
    assert again.edge_features is not None
    torch.testing.assert_close(again.edge_features[again.entry_edge], g.edge_features[g.entry_edge])


def test_a_pyg_batch_is_a_batch_of_its_graphs(pyg: Any) -> None:
    rng = np.random.default_rng(0)
    graphs = [random_graph(n, rng, weighted=True, density=0.8) for n in (3, 5)]
    b = ccn.batch(pyg.Batch.from_data_list([interop.to_pyg(g) for g in graphs]))
    assert len(b) == 2
    for ours, g in zip(b.graphs, graphs, strict=True):
        _same(ours, g)
    plain = ccn.batch([pyg.Data(num_nodes=3, edge_index=torch.tensor([[0], [2]]))])
    assert plain.entries.tolist() == [[0, 2], [2, 0]]
    with pytest.raises(GraphError, match=r"graph 0: edge 0 \(0, 5\) .*5"):
        ccn.batch([pyg.Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [5]]))])


def test_a_pyg_data_without_an_index_has_no_edges(pyg: Any) -> None:
    g = Graph.from_pyg(pyg.Data(x=torch.ones(2, 1)))
    assert (g.n, g.entries.shape) == (2, (2, 0))
    with pytest.raises(GraphError, match=r"^graph 0: .*adj_t"):
        ccn.batch([pyg.Data(x=torch.ones(2, 1), adj_t=torch.eye(2))])
    with pytest.raises(GraphError, match=r"^graph 0: .*HeteroData"):
        ccn.batch([pyg.HeteroData()])


def test_a_molecule_has_one_hot_elements_and_bond_orders() -> None:
    g = Graph.from_smiles("N#CC=CO[Na]")
    elements = [(*ELEMENTS, "other")[i] for i in g.features.argmax(1).tolist()]
    assert elements == ["N", "C", "C", "C", "O", "other"]
    assert g.features.sum(1).tolist() == [1.0] * g.n
    assert g.edges.tolist() == [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]]
    assert g.edge_features is not None
    assert [BOND_ORDERS[i] for i in g.edge_features.argmax(1).tolist()] == [3, 1, 2, 1, 1]
    benzene = Graph.from_smiles("c1ccccc1")
    assert benzene.edge_features is not None
    assert benzene.edge_features[:, BOND_ORDERS.index(1.5)].tolist() == [1.0] * 6


def test_smiles_molecules_and_hydrogens_agree_with_rdkit() -> None:
    mol = Chem.MolFromSmiles("CCO")
    g = Graph.from_rdkit(mol)
    _same(g, Graph.from_smiles("CCO"))
    np.testing.assert_array_equal(g.adjacency().numpy(), Chem.GetAdjacencyMatrix(mol))
    full = Graph.from_smiles("CCO", hydrogens=True)
    assert full.n == 9
    assert int(full.features[:, ELEMENTS.index("H")].sum()) == 6
    methane = Graph.from_smiles("C")
    assert (methane.n, methane.entries.shape[1]) == (1, 0)


@pytest.mark.parametrize("smiles", ["", "C(", "C1CC", "C(C)(C)(C)(C)C"])
def test_a_smiles_that_cannot_be_read_is_an_error(smiles: str) -> None:
    with pytest.raises(GraphError, match=r"^graph x7: "):
        Graph.from_smiles(smiles, name="x7")


@pytest.mark.parametrize("mol", [None, 7, "CC"])
def test_what_is_no_molecule_is_an_error(mol: Any) -> None:
    with pytest.raises(GraphError, match=f"^graph x7: .*{type(mol).__name__}"):
        Graph.from_rdkit(mol, name="x7")


def test_one_bare_object_of_any_kind_is_a_batch_of_one(pyg: Any) -> None:
    a = np.array([[0.0, 1.0], [1.0, 0.0]])
    data = pyg.Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [1]]))
    kinds = [Graph([(0, 1)], n=2), "CC", Chem.MolFromSmiles("CC"), nx.path_graph(2), data]
    for thing in [*kinds, a, torch.from_numpy(a), sp.csr_array(a), sp.coo_matrix(a)]:
        b = ccn.batch(thing)
        assert (len(b), b.entries.tolist()) == (1, [[0, 1], [1, 0]])
    # Several matrices, molecules or Data, and a data set of them, stay several graphs.
    supplier = Chem.SDMolSupplier()
    supplier.SetData(f"{Chem.MolToMolBlock(kinds[2])}\n$$$$\n" * 3)
    data_set = pyg.InMemoryDataset()
    data_set._data, data_set.slices = data_set.collate([data] * 3)
    for things in [np.stack([a, a, a]), pyg.Batch.from_data_list([data] * 3), data_set, supplier]:
        assert len(ccn.batch(things)) == 3


def test_as_graph_understands_each_kind(pyg: Any) -> None:
    g = Graph([(0, 1)], n=2)
    assert ccn.as_graph(g) is g
    data = pyg.Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [1]]))
    kinds = [nx.path_graph(2), data, "CC", Chem.MolFromSmiles("CC"), sp.csr_array([[0, 1], [1, 0]])]
    for thing in [*kinds, np.array([[0, 1], [1, 0]]), torch.tensor([[0, 1], [1, 0]])]:
        assert ccn.as_graph(thing).adjacency().tolist() == [[0, 1], [1, 0]]
    with pytest.raises(GraphError, match=r"\bint\b"):
        ccn.as_graph(7)

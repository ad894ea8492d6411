"""Graphs from and to other libraries, each imported only where it is used: arrays, NetworkX, PyG, RDKit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ccn.chemistry.properties import MoleculeFeatures, molecule_features
from ccn.chemistry.smiles import parse_smiles
from ccn.errors import GraphError, needs
from ccn.graphs.graph import Graph, finite_tensor, prefix, real_tensor

if TYPE_CHECKING:
    import networkx

__all__ = [
    "from_adjacency",
    "from_networkx",
    "from_pyg",
    "from_rdkit",
    "from_smiles",
    "is_one",
    "reader_of",
    "to_networkx",
    "to_pyg",
]


def reader_of(thing: Any) -> Callable[[Any], Graph] | None:
    """The function that makes a graph from things of this kind, or None.

    Example:
        >>> reader = reader_of("CCO")
        >>> reader("CCO").n, reader_of(7)
        (3, None)
    """
    # By attributes: no library is imported, and RDKit's suppliers, which are lists of molecules, are not matched.
    if isinstance(thing, str):
        return from_smiles
    if hasattr(thing, "adjacency") and hasattr(thing, "nodes"):
        return from_networkx
    # A data set of PyG also has an edge_index, that of all its graphs.
    if hasattr(thing, "edge_index") and not isinstance(thing, torch.utils.data.Dataset):
        return from_pyg
    if hasattr(thing, "GetAtoms"):
        return from_rdkit
    if hasattr(thing, "tocoo") or isinstance(thing, np.ndarray | Tensor):
        return from_adjacency
    return None


def is_one(thing: Any) -> bool:
    """Whether ``thing`` stands for one graph, not for an iterable of several.

    Example:
        >>> is_one("CCO"), is_one(["CCO", "CC"])
        (True, False)
    """
    if not hasattr(thing, "__iter__") and not hasattr(thing, "__getitem__"):
        return True
    # A PyG Batch is a Data of many graphs; an array with another number of axes than two is a list of matrices.
    return reader_of(thing) is not None and not hasattr(thing, "to_data_list") and getattr(thing, "ndim", 2) == 2


def from_adjacency(
    a: Any, features: Any = None, *, directed: bool = False, self_loops: bool = False, name: str | None = None
) -> Graph:
    """From an (n, n) adjacency matrix, dense or scipy sparse; its nonzero entries are the edges.

    Example:
        >>> from_adjacency([[0, 1, 0], [1, 0, 1], [0, 1, 0]]).edges.tolist()
        [[0, 1], [1, 0], [1, 2], [2, 1]]
    """
    import scipy.sparse as sp

    where = prefix(name)
    sparse = sp.issparse(a)
    matrix = a if sparse else real_tensor(a, "the entries of A", where)
    n = matrix.shape[0] if len(matrix.shape) == 2 else -1
    if tuple(matrix.shape) != (n, n):
        raise GraphError(f"{where}an adjacency matrix is square, got shape {tuple(matrix.shape)}")
    if sparse:
        row, col, data = sp.find(matrix)
        row, col, values = row.astype(np.int64), col.astype(np.int64), real_tensor(data, "the entries of A", where)
    else:
        places = torch.nonzero(matrix.detach())
        row, col = places.T.cpu().numpy()
        values = matrix[places[:, 0], places[:, 1]]
    if not values.is_floating_point():
        values = values.to(torch.get_default_dtype())
    kind: dict[str, Any] = {"directed": directed, "self_loops": self_loops, "name": name}
    graph = Graph(np.stack([row, col], axis=1), features, n=n, weights=values, **kind)
    # What is left to check: a place that the graph has and the matrix has not.
    missing = np.setdiff1d(graph.entries[0] * n + graph.entries[1], row * n + col)
    if missing.size:
        u, v = divmod(int(missing[0]), n)
        raise GraphError(f"{where}A[{u}, {v}] is 0 but A[{v}, {u}] is not; make A symmetric or pass directed=True")
    return graph


def from_networkx(
    g: networkx.Graph,
    *,
    features: str | None = "x",
    weight: str | None = "weight",
    edge_features: str | None = "edge_features",
    directed: bool = False,
    self_loops: bool = False,
    name: str | None = None,
) -> Graph:
    """From a NetworkX graph: vertices numbered in its node order, values from the attributes named.

    An attribute that no node or edge has is left out; an edge without a weight, where others have one, weighs 1.
    Arrays and tensors keep their dtype, lists and numbers take torch's default. With ``directed=True`` an
    undirected graph has every edge both ways.

    Example:
        >>> import networkx as nx
        >>> from_networkx(nx.path_graph(3)).edges.tolist()
        [[0, 1], [1, 2]]
    """
    where = prefix(name)
    if g.is_multigraph():
        raise GraphError(f"{where}a multigraph has repeated edges; convert it with networkx.Graph(g) first")
    if g.is_directed() and not directed:
        raise GraphError(f"{where}the graph is directed; pass directed=True or convert it with to_undirected()")
    number = {v: i for i, v in enumerate(g.nodes)}
    edges = list(g.edges(data=True))
    if directed and not g.is_directed():
        edges += [(v, u, data) for u, v, data in edges if u != v]
    of_nodes = [(f"node {v!r}", data) for v, data in g.nodes(data=True)]
    of_edges = [(f"edge ({u!r}, {v!r})", data) for u, v, data in edges]
    return Graph(
        [(number[u], number[v]) for u, v, _ in edges],
        _attribute(of_nodes, features, where),
        n=len(number),
        weights=_attribute(of_edges, weight, where, missing=1.0),
        edge_features=_attribute(of_edges, edge_features, where),
        directed=directed,
        self_loops=self_loops,
        name=name,
    )


def _attribute(
    data: Sequence[tuple[str, dict[Any, Any]]], key: str | None, where: str, missing: float | None = None
) -> Tensor | None:
    """One attribute of all nodes or edges, named for errors, as a tensor, a row for each; None if none has it."""
    if all(of.get(key) is None for _, of in data):
        return None
    out: list[Tensor] = []
    for owner, of in data:
        row = missing if of.get(key) is None else of[key]
        if row is None:
            raise GraphError(f"{where}{owner} has no attribute {key!r}, others have; give it to all or to none")
        tensor = finite_tensor(row, f"the values {key!r} of {owner}", where)
        if not isinstance(row, np.ndarray | Tensor):
            tensor = tensor.to(torch.get_default_dtype())
        if out and tensor.shape != out[0].shape:
            shapes = f"{tuple(tensor.shape)}, those of {data[0][0]} {tuple(out[0].shape)}"
            raise GraphError(f"{where}the values {key!r} of {owner} have shape {shapes}; all need one common shape")
        out.append(tensor)
    return torch.stack(out)


def to_networkx(g: Graph) -> networkx.Graph:
    """To a NetworkX graph with vertex attribute ``x`` and edge attributes ``weight`` and, if any, ``edge_features``.

    Values become Python numbers and lists, which :func:`from_networkx` reads in torch's default dtype.

    Example:
        >>> to_networkx(from_smiles("C=O")).number_of_nodes()
        2
    """
    import networkx as nx

    out: networkx.Graph = nx.DiGraph() if g.directed else nx.Graph()
    out.add_nodes_from((i, {"x": row}) for i, row in enumerate(g.features.detach().tolist()))
    weights = [1.0] * len(g.edges) if g.weights is None else g.weights.detach().tolist()
    out.add_edges_from((u, v, {"weight": w}) for (u, v), w in zip(g.edges.tolist(), weights, strict=True))
    if g.edge_features is not None:
        for (u, v), row in zip(g.edges.tolist(), g.edge_features.detach().tolist(), strict=True):
            out.edges[u, v]["edge_features"] = row
    return out


def from_pyg(data: Any, *, directed: bool = False, self_loops: bool = False, name: str | None = None) -> Graph:
    """From a PyG ``Data``: ``x``, ``edge_index``, ``edge_weight`` and ``edge_attr``; no edges without an index.

    Example:
        >>> data = to_pyg(from_smiles("CO"))  # needs torch_geometric
        >>> from_pyg(data).edges.tolist()
        [[0, 1], [1, 0]]
    """
    index = data.edge_index
    if index is None and getattr(data, "adj_t", None) is not None:
        raise GraphError(f"{prefix(name)}the edges of the PyG Data are in adj_t; give them as edge_index")
    return Graph(
        () if index is None else index.t(),
        data.x,
        n=data.num_nodes,
        weights=getattr(data, "edge_weight", None),
        edge_features=getattr(data, "edge_attr", None),
        directed=directed,
        self_loops=self_loops,
        name=name,
    )


def to_pyg(g: Graph) -> Any:
    """To a PyG ``Data``, every entry of A as one directed edge.

    Example:
        >>> to_pyg(from_smiles("C=O")).edge_index.tolist()  # needs torch_geometric
        [[0, 1], [1, 0]]
    """
    with needs("to_pyg", "compare"):
        from torch_geometric.data import Data
    edge = torch.from_numpy(g.entry_edge)
    return Data(
        x=g.features,
        edge_index=torch.from_numpy(g.entries),
        edge_weight=None if g.weights is None else g.weights[edge],
        edge_attr=None if g.edge_features is None else g.edge_features[edge],
        num_nodes=g.n,
    )


def from_smiles(
    smiles: str, *, features: str | MoleculeFeatures = "element", hydrogens: bool = False, name: str | None = None
) -> Graph:
    """From a SMILES string, parsed by RDKit; see :func:`from_rdkit`.

    Example:
        >>> from_smiles("CCO", features="compact")
        Graph(n=3, edges=2, features=43)
    """
    return from_rdkit(parse_smiles(smiles, prefix(name)), features=features, hydrogens=hydrogens, name=name)


def from_rdkit(
    mol: Any, *, features: str | MoleculeFeatures = "element", hydrogens: bool = False, name: str | None = None
) -> Graph:
    """From an RDKit molecule: atoms as vertices, bonds as edges; ``hydrogens=True`` makes hydrogens vertices.

    ``features`` names their features, by default the one-hot element and bond order; see
    :mod:`ccn.chemistry.properties`.

    Example:
        >>> from rdkit import Chem
        >>> mol = Chem.MolFromSmiles("CCO")
        >>> from_rdkit(mol).n, from_rdkit(mol, hydrogens=True).n
        (3, 9)
    """
    if not hasattr(mol, "GetAtoms"):
        hint = "; RDKit gives None for what it cannot read" if mol is None else ""
        raise GraphError(f"{prefix(name)}{type(mol).__name__} is not an RDKit molecule{hint}")
    chosen = molecule_features(features, hydrogens)
    try:
        rows, edges, edge_rows = chosen.arrays(mol)
    except GraphError as error:
        raise GraphError(f"{prefix(name)}{error}") from None
    vertex, edge = (torch.from_numpy(a).to(torch.get_default_dtype()) for a in (rows, edge_rows))
    whole = chosen.molecule(mol)
    groups = None
    if chosen.groups:
        from ccn.chemistry.groups import group_marks

        groups = group_marks(whole)
    return Graph(edges, vertex, edge_features=edge, name=name, mol=whole, groups=groups)

"""Graphs from and to other libraries: arrays, NetworkX, PyG, RDKit.

Each library is imported only where it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ccn.errors import DependencyError, GraphError
from ccn.graph import Graph

if TYPE_CHECKING:
    import networkx

__all__ = [
    "BOND_ORDERS",
    "ELEMENTS",
    "convert",
    "from_adjacency",
    "from_networkx",
    "from_pyg",
    "from_rdkit",
    "from_smiles",
    "to_networkx",
    "to_pyg",
]

ELEMENTS = ("C", "N", "O", "S", "F", "Cl", "Br", "I", "P", "B", "Si", "Se", "H")
"""Columns of the default vertex features of molecules; one more column stands for any other element."""

BOND_ORDERS = (1.0, 2.0, 3.0, 1.5)
"""Columns of the default edge features of molecules: single, double, triple, aromatic."""


def convert(thing: Any, where: str = "") -> Graph:
    """A graph from whatever is understood, by the kind of ``thing``; errors start with ``where``."""
    module = type(thing).__module__.split(".")[0]
    try:
        if isinstance(thing, str):
            return from_smiles(thing)
        if module == "networkx" or (hasattr(thing, "adjacency") and hasattr(thing, "nodes")):
            return from_networkx(thing)
        if module == "torch_geometric" or hasattr(thing, "edge_index"):
            return from_pyg(thing)
        if module == "rdkit" or hasattr(thing, "GetAtoms"):
            return from_rdkit(thing)
        if module == "scipy" or isinstance(thing, np.ndarray | torch.Tensor):
            return from_adjacency(thing)
    except GraphError as error:
        raise GraphError(f"{where}{str(error).removeprefix('graph: ')}") from None
    raise GraphError(
        f"{where}cannot make a graph from {type(thing).__name__}; give a ccn.Graph, a SMILES string, an RDKit "
        "molecule, a NetworkX graph, a PyG Data or an adjacency matrix"
    )


def from_adjacency(
    a: Any, features: Any = None, *, directed: bool = False, self_loops: bool = False, name: str | None = None
) -> Graph:
    """From an (n, n) adjacency matrix, dense or scipy sparse; its nonzero entries are the edges."""
    import scipy.sparse as sp

    where = f"graph {name}: " if name is not None else "graph: "
    if sp.issparse(a):
        coo = sp.coo_array(a)
        coo.sum_duplicates()
        keep = coo.data != 0
        row, col, values = (
            coo.row[keep].astype(np.int64),
            coo.col[keep].astype(np.int64),
            torch.from_numpy(coo.data[keep]),
        )
        shape = coo.shape
    else:
        dense = a if isinstance(a, torch.Tensor) else torch.as_tensor(np.asarray(a))
        if dense.ndim != 2:
            raise GraphError(f"{where}an adjacency matrix is square, got shape {tuple(dense.shape)}")
        index = torch.nonzero(dense.detach())
        row, col = index[:, 0].numpy(), index[:, 1].numpy()
        values, shape = dense[index[:, 0], index[:, 1]], tuple(dense.shape)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise GraphError(f"{where}an adjacency matrix is square, got shape {tuple(shape)}")
    n = shape[0]
    if not directed:
        key, transposed = row * n + col, col * n + row
        alone = np.flatnonzero(~np.isin(transposed, key))
        if alone.size:
            u, v = row[alone[0]], col[alone[0]]
            raise GraphError(
                f"{where}A[{u}, {v}] is nonzero but A[{v}, {u}] is 0: A is not symmetric; pass directed=True"
            )
    if not values.is_floating_point():
        values = values.to(torch.get_default_dtype())
    return Graph(
        np.stack([row, col], axis=1),
        features,
        n=n,
        weights=values,
        directed=directed,
        self_loops=self_loops,
        name=name,
    )


def from_networkx(
    g: networkx.Graph,
    *,
    features: str | None = "x",
    weight: str | None = "weight",
    directed: bool = False,
    self_loops: bool = False,
    name: str | None = None,
) -> Graph:
    """From a NetworkX graph: vertices numbered in its node order, features from the node attribute named."""
    where = f"graph {name}: " if name is not None else "graph: "
    if g.is_multigraph():
        raise GraphError(f"{where}a multigraph has repeated edges; convert it with networkx.Graph(g) first")
    if g.is_directed() and not directed:
        raise GraphError(
            f"{where}the NetworkX graph is directed; pass directed=True or convert it with to_undirected()"
        )
    number = {v: i for i, v in enumerate(g.nodes)}
    rows = [g.nodes[v].get(features) for v in g.nodes] if features is not None else []
    have = [r is not None for r in rows]
    if any(have) and not all(have):
        raise GraphError(f"{where}node {list(g.nodes)[have.index(False)]!r} has no attribute {features!r}, others have")
    edges = list(g.edges(data=True))
    weighted = weight is not None and any(weight in data for _, _, data in edges)
    return Graph(
        [(number[u], number[v]) for u, v, _ in edges],
        np.asarray(rows, dtype=np.float32) if any(have) else None,
        n=len(number),
        weights=np.asarray([data.get(weight, 1.0) for _, _, data in edges], dtype=np.float32) if weighted else None,
        directed=directed,
        self_loops=self_loops,
        name=name,
    )


def to_networkx(g: Graph) -> networkx.Graph:
    """To a NetworkX graph with vertex attribute ``x`` and edge attribute ``weight``."""
    import networkx as nx

    out: networkx.Graph = nx.DiGraph() if g.directed else nx.Graph()
    out.add_nodes_from((i, {"x": row}) for i, row in enumerate(g.features.detach().tolist()))
    weights = [1.0] * len(g.edges) if g.weights is None else g.weights.detach().tolist()
    out.add_edges_from((int(u), int(v), {"weight": w}) for (u, v), w in zip(g.edges, weights, strict=True))
    return out


def from_pyg(data: Any, *, directed: bool = False, self_loops: bool = False, name: str | None = None) -> Graph:
    """From a PyG ``Data``: ``x``, ``edge_index``, ``edge_weight`` and ``edge_attr``."""
    x = data.x
    return Graph(
        data.edge_index.t(),
        x,
        n=data.num_nodes,
        weights=getattr(data, "edge_weight", None),
        edge_features=getattr(data, "edge_attr", None),
        directed=directed,
        self_loops=self_loops,
        name=name,
    )


def to_pyg(g: Graph) -> Any:
    """To a PyG ``Data``, every entry of A as one directed edge."""
    try:
        from torch_geometric.data import Data
    except ImportError:
        raise DependencyError("to_pyg needs PyTorch Geometric: pip install torch_geometric") from None
    edge = torch.from_numpy(g.entry_edge)
    return Data(
        x=g.features,
        edge_index=torch.from_numpy(g.entries),
        edge_weight=None if g.weights is None else g.weights[edge],
        edge_attr=None if g.edge_features is None else g.edge_features[edge],
        num_nodes=g.n,
    )


def _rdkit() -> Any:
    try:
        from rdkit import Chem
    except ImportError:
        raise DependencyError("molecules need RDKit: pip install rdkit") from None
    return Chem


def from_smiles(smiles: str, *, hydrogens: bool = False, name: str | None = None) -> Graph:
    """From a SMILES string, parsed by RDKit; ``hydrogens=True`` makes them vertices."""
    from rdkit import rdBase

    chem = _rdkit()
    with rdBase.BlockLogs():
        mol = chem.MolFromSmiles(smiles)
    if mol is None or mol.GetNumAtoms() == 0:
        where = f"graph {name}: " if name is not None else "graph: "
        raise GraphError(f"{where}RDKit cannot read the SMILES {smiles!r}; check its spelling, rings and valences")
    return from_rdkit(chem.AddHs(mol) if hydrogens else mol, name=name)


def from_rdkit(mol: Any, *, name: str | None = None) -> Graph:
    """From an RDKit molecule: atoms as vertices (one-hot element), bonds as edges (one-hot bond order)."""
    symbols = [atom.GetSymbol() for atom in mol.GetAtoms()]
    column = {symbol: i for i, symbol in enumerate(ELEMENTS)}
    features = torch.zeros(len(symbols), len(ELEMENTS) + 1)
    features[range(len(symbols)), [column.get(s, len(ELEMENTS)) for s in symbols]] = 1
    bonds = list(mol.GetBonds())
    edge_features = torch.zeros(len(bonds), len(BOND_ORDERS))
    for i, bond in enumerate(bonds):
        order = bond.GetBondTypeAsDouble()
        if order in BOND_ORDERS:
            edge_features[i, BOND_ORDERS.index(order)] = 1
    edges = [(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in bonds]
    return Graph(edges, features, edge_features=edge_features, name=name, mol=mol)

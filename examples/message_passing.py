"""What message passing cannot tell apart: pairs of graphs, and the order from which networks see a difference.

    python examples/message_passing.py

Two graphs that a network cannot tell apart have the same embedding whatever its weights are. So random weights in
float64 are enough: the numbers are the largest relative differences of two embeddings, and those of rounding are
zeros. Order 0 without A is message passing; decalin and bicyclopentyl are two molecules that it confuses. Of the 4x4
rook's graph and the Shrikhande graph not even triples of vertices (3-WL) tell the difference.
"""

from __future__ import annotations

from typing import Any

import networkx as nx
import torch
from rdkit import Chem

import ccn

NETWORKS: dict[str, dict[str, Any]] = {
    "message passing": {"order": 0, "adjacency": False},
    "order 1": {"order": 1},
    "order 2": {"order": 2},
}


def pairs() -> dict[str, tuple[ccn.Graph, ccn.Graph]]:
    """Pairs of graphs without labels; of molecules the skeletons."""
    shrikhande = nx.Graph(
        ((i, j), ((i + a) % 4, (j + b) % 4)) for i in range(4) for j in range(4) for a, b in [(0, 1), (1, 0), (1, 1)]
    )
    rook = nx.line_graph(nx.complete_bipartite_graph(4, 4))
    return {
        "hexagon, two triangles": (bare(nx.cycle_graph(6)), bare(nx.disjoint_union_all([nx.cycle_graph(3)] * 2))),
        "decalin, bicyclopentyl": (skeleton("C1CCC2CCCCC2C1"), skeleton("C1CCC(C1)C1CCCC1")),
        "rook's graph, Shrikhande graph": (bare(rook), bare(shrikhande)),
    }


def bare(g: nx.Graph) -> ccn.Graph:
    g = nx.convert_node_labels_to_integers(g)
    return ccn.Graph(list(g.edges), n=len(g))


def skeleton(smiles: str) -> ccn.Graph:
    m = Chem.MolFromSmiles(smiles)
    return ccn.Graph([(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in m.GetBonds()], n=m.GetNumAtoms())


def difference(a: ccn.Graph, b: ccn.Graph, **settings: Any) -> float:
    """The largest relative difference of the embeddings of two graphs by one random network."""
    torch.manual_seed(0)
    net = ccn.CCN(1, 1, levels=2, channels=4, **settings).double()
    with torch.no_grad():
        x, y = net.embed([a]), net.embed([b])
    return float((x - y).abs().max() / x.abs().max())


def main() -> dict[str, dict[str, float]]:
    """For each pair the difference that each network sees."""
    return {
        name: {kind: difference(*pair, **settings) for kind, settings in NETWORKS.items()}
        for name, pair in pairs().items()
    }


if __name__ == "__main__":
    print(f"{'':32}" + "".join(f"{kind:>18}" for kind in NETWORKS))
    for name, found in main().items():
        cells = (f"{value:.0e}" if value > 1e-9 else "0" for value in found.values())
        print(f"{name:32}" + "".join(f"{cell:>18}" for cell in cells))

"""Targets of vertices and of edges: communities of a citation-like graph, partial charges of atoms, bonds in rings.

    python examples/vertices_and_edges.py

The targets are a list per graph, and predictions have one row per vertex or edge of all graphs, one after another.
"""

from __future__ import annotations

import networkx as nx
import numpy as np
from rdkit import Chem
from rdkit.Chem import rdPartialCharges

import ccn

SMILES = [
    *("CCO", "CCN", "CC(=O)O", "c1ccccc1", "c1ccccc1O", "CC(=O)N", "CCCl", "C1CCCCC1", "C1CCNCC1", "CC(C)O", "OCCO"),
    *("c1ccncc1", "Cc1ccccc1", "CCOC(C)=O", "C1CC1", "CC#N", "CCS", "FC(F)F", "NCC(=O)O", "Oc1ccccc1Cl", "C1COCCO1"),
]


def communities(epochs: int = 30) -> float:
    """Accuracy of the field of each paper in unseen graphs of citations: two fields, each mostly citing its own."""
    rng = np.random.default_rng(0)
    graphs, fields = [], []
    for seed in range(40):
        g = nx.planted_partition_graph(2, 8, 0.6, 0.05, seed=seed)
        field = np.arange(16) // 8
        words = np.eye(2)[np.where(rng.random(16) < 0.75, field, 1 - field)]  # a word that is right in 75 %
        graphs.append(ccn.Graph(list(g.edges), words))
        fields.append(["physics" if f else "biology" for f in field])
    model = ccn.CCNClassifier(readout="vertex", order=1, channels=8, epochs=epochs, batch_size=8, random_state=0)
    return model.fit(graphs[:30], fields[:30]).score(graphs[30:], fields[30:])


def charges(epochs: int = 100) -> float:
    """R2 of Gasteiger charges of atoms, one number for each."""
    molecules = [Chem.MolFromSmiles(s) for s in SMILES]
    for m in molecules:
        rdPartialCharges.ComputeGasteigerCharges(m)
    y = [[float(a.GetProp("_GasteigerCharge")) for a in m.GetAtoms()] for m in molecules]
    model = ccn.CCNRegressor(readout="vertex", order=1, channels=8, epochs=epochs, batch_size=8, random_state=0)
    return model.fit(molecules[:16], y[:16]).score(molecules[16:], y[16:])


def ring_bonds(epochs: int = 30) -> float:
    """Accuracy of whether each bond lies in a ring, from elements alone: order 2 is about pairs."""
    molecules = [Chem.MolFromSmiles(s) for s in SMILES]
    y = [[bool(b.IsInRing()) for b in m.GetBonds()] for m in molecules]
    model = ccn.CCNClassifier(
        readout="edge", features="element", levels=3, channels=8, epochs=epochs, batch_size=8, random_state=0
    )
    return model.fit(molecules[:16], y[:16]).score(molecules[16:], y[16:])


if __name__ == "__main__":
    print(f"fields of papers, accuracy: {communities():.2f}")
    print(f"charges of atoms, R2: {charges():.2f}")
    print(f"bonds in rings, accuracy: {ring_bonds():.2f}")

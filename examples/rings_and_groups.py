"""Rings and functional groups as parts: composition schemes that a chemist would draw, by name or of one's own.

    python examples/rings_and_groups.py

The parts of the default scheme are neighbourhoods of atoms. In the schemes `rings` and `functional-groups` the parts
of the first level are what their names say, beside the single atoms; a level higher all that is within one step. A
scheme of one's own is a function from a graph to a `ccn.Scheme`, here made of a function that finds groups of atoms:
those between the rotatable bonds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import networkx as nx
import numpy as np
from rdkit import Chem
from rdkit.Chem import rdMolDescriptors
from rdkit.Chem.Lipinski import RotatableBondSmarts

import ccn
from ccn.schemes import Clusters, functional_groups, is_permutation_invariant, rings

ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"
SMILES = ["CCO", "CCC(=O)O", "c1ccccc1", "c1ccccc1O", "C1CCCCC1", "C1CC1C(=O)O", "CC(=O)OC", "c1ccc2ccccc2c1"]
SMILES += ["C1CCNC1", "CCCCC(=O)O", "OC(=O)c1ccccc1", "CCOC(=O)C", "C1CCC2CCCCC2C1", "CCCCCC", "CC(C)O", "c1ccncc1"]


def rigid(graph: ccn.Graph) -> Sequence[Sequence[int]]:
    """Finds the rigid pieces of a molecule: what holds together when its rotatable bonds are cut."""
    pieces = nx.Graph([tuple(e) for e in graph.edges.tolist()])
    pieces.remove_edges_from(graph.mol.GetSubstructMatches(RotatableBondSmarts))
    return [sorted(piece) for piece in nx.connected_components(pieces) if len(piece) > 1]


def parts(smiles: str = ASPIRIN) -> dict[str, list[tuple[int, ...]]]:
    """The parts of more than one atom below the root, by scheme."""
    graph = ccn.Graph.from_smiles(smiles)
    finders = {"rings": rings(), "carboxyl and ester groups": functional_groups("C(=O)O"), "rigid pieces": rigid}
    return {name: [p for p in Clusters(find)(graph).parts if 1 < len(p) < graph.n] for name, find in finders.items()}


def covariant() -> bool:
    """Whether the scheme of one's own does not depend on the numbering of the atoms."""
    return is_permutation_invariant(Clusters(rigid), ccn.Graph.from_smiles(ASPIRIN))


def count_rings(epochs: int = 30) -> float:
    """The mean error of the number of rings on rows that were fitted, by a network whose parts are rings."""
    y = [float(rdMolDescriptors.CalcNumRings(Chem.MolFromSmiles(s))) for s in SMILES]
    network: dict[str, Any] = {"scheme": "rings", "order": 1, "levels": 2, "channels": 8, "features": "element"}
    model = ccn.CCNRegressor(**network, batch_size=8, epochs=epochs, random_state=0)
    model.fit(SMILES, y, validation=(SMILES, y))
    return float(np.abs(model.predict(SMILES) - y).mean())


if __name__ == "__main__":
    for name, found in parts().items():
        print(f"aspirin, {name}: {found}")
    print(f"the scheme of one's own is permutation invariant: {covariant()}")
    print(f"number of rings by a network whose parts are rings: mean error {count_rings():.2f}")

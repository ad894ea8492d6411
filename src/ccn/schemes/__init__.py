"""Composition schemes: the general DAG, the schemes of graphs, and both packed level by level for a batch.

Imports graphs and the algebra; no torch.
"""

from ccn.schemes.generators import Balls, Clusters, Finder, Neighbourhoods, composition, functional_groups, rings
from ccn.schemes.packed import Composition, Level, Nodes, Pairs
from ccn.schemes.scheme import Scheme, SchemeGenerator, is_permutation_invariant

__all__ = [
    "Balls",
    "Clusters",
    "Composition",
    "Finder",
    "Level",
    "Neighbourhoods",
    "Nodes",
    "Pairs",
    "Scheme",
    "SchemeGenerator",
    "composition",
    "functional_groups",
    "is_permutation_invariant",
    "rings",
]

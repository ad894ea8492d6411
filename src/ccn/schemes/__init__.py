"""Composition schemes: the general DAG, the schemes of graphs, and both packed level by level for a batch.

Imports graphs and the algebra; no torch.

>>> from ccn.schemes import SCHEMES, named_scheme
>>> "rings" in SCHEMES, named_scheme("balls", levels=2)
(True, Balls(radii=(0, 1, 3), max_part=None))

>>> from ccn import Graph
>>> from ccn.schemes import Clusters, Finder
>>> every_edge: Finder = lambda graph: graph.edges.tolist()
>>> Clusters(every_edge)(Graph([(0, 1), (1, 2)], n=3)).parts
((0,), (1,), (2,), (0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2))
"""

from ccn.schemes.compnet import CompNet, Node
from ccn.schemes.generators import Balls, Clusters, Finder, Neighbourhoods, composition, functional_groups, rings
from ccn.schemes.named import SCHEMES, named_scheme, register_scheme
from ccn.schemes.packed import Composition, Level, Nodes, Pairs
from ccn.schemes.scheme import Scheme, SchemeGenerator, is_permutation_invariant

__all__ = [
    "SCHEMES",
    "Balls",
    "Clusters",
    "CompNet",
    "Composition",
    "Finder",
    "Level",
    "Neighbourhoods",
    "Node",
    "Nodes",
    "Pairs",
    "Scheme",
    "SchemeGenerator",
    "composition",
    "functional_groups",
    "is_permutation_invariant",
    "named_scheme",
    "register_scheme",
    "rings",
]

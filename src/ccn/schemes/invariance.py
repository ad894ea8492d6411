"""Definition 4 as a test: is a scheme generator permutation invariant?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ccn.graphs.graph import Graph
from ccn.schemes.generators import SchemeGenerator
from ccn.schemes.scheme import Scheme

__all__ = ["is_permutation_invariant", "random_permutation"]


def random_permutation(n: int, rng: np.random.Generator) -> list[int]:
    """A permutation of n things that is not the identity, where there is another."""
    sigma = rng.permutation(n)
    while n > 1 and (sigma == np.arange(n)).all():
        sigma = rng.permutation(n)
    return [int(i) for i in sigma]


def _signature(scheme: Scheme, rename: Sequence[int]) -> Counter[object]:
    """The multiset of nodes, each as its part, anchor and children with all atoms renamed."""
    key: dict[int, object] = {}
    for node in scheme.order:
        anchor = scheme.anchors[node]
        children = Counter(key[c] for c in scheme.children[node])
        key[node] = (
            frozenset(rename[a] for a in scheme.parts[node]),
            None if anchor is None else rename[anchor],
            frozenset(children.items()),
        )
    return Counter(key.values())


def is_permutation_invariant(generator: SchemeGenerator, graph: Graph, trials: int = 8, seed: int = 0) -> bool:
    """Whether renaming the vertices of ``graph`` renames its scheme and changes nothing else.

    For each of ``trials`` random permutations sigma (never the identity where there is another) the
    scheme of the renamed graph must be the renamed scheme: a bijection of the nodes that takes every
    part P to sigma(P), and likewise anchors and children.

    Example:
        >>> from ccn.schemes import Neighbourhoods
        >>> path = Graph([(0, 1), (1, 2)], n=3)
        >>> is_permutation_invariant(Neighbourhoods(levels=2), path)
        True

    """
    rng = np.random.default_rng(seed)
    scheme = generator(graph)
    for _ in range(trials):
        sigma = random_permutation(graph.n, rng)
        if _signature(scheme, sigma) != _signature(generator(graph.permute(sigma)), range(graph.n)):
            return False
    return True

"""Definition 4: the test of permutation invariance accepts what is invariant and rejects what is not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ccn import Graph, Scheme
from ccn.schemes import (
    Balls,
    Clusters,
    Neighbourhoods,
    SchemeGenerator,
    functional_groups,
    is_permutation_invariant,
    rings,
)
from ccn.testing import random_graph

OURS: list[SchemeGenerator] = [
    Neighbourhoods(levels=2),
    Neighbourhoods(closed=False, levels=2),
    Balls((0, 1, 3)),
    Clusters(rings()),
]
MOLECULE = Graph.from_smiles("OC(=O)c1ccccc1N")


@pytest.mark.parametrize("generator", OURS, ids=["closed", "open", "balls", "rings"])
@given(n=st.integers(1, 7), seed=st.integers(0, 10**6), directed=st.booleans())
@settings(deadline=None, max_examples=10)
def test_our_generators_are_permutation_invariant(
    generator: SchemeGenerator, n: int, seed: int, directed: bool
) -> None:
    g = random_graph(n, np.random.default_rng(seed), directed=directed)
    assert is_permutation_invariant(generator, g, trials=3)


def test_clusters_of_a_molecule_are_permutation_invariant() -> None:
    nested = Clusters(functional_groups("C=O", "cN"), functional_groups("cC(=O)O", "ccN"))
    assert is_permutation_invariant(nested, MOLECULE)


def _anchored_at_the_first(g: Graph) -> Scheme:
    """Invariant in all but the anchor of its one inner node."""
    n = g.n
    return Scheme(
        [*((i,) for i in range(n)), range(n), range(n)], [*[()] * n, range(n), [n]], [*range(n), 0, None], atoms=n
    )


def _same_parts_other_children(g: Graph) -> Scheme:
    """All parts are invariant, and only who is whose child depends on the numbering."""
    n = g.n
    whole = tuple(range(n))
    return Scheme(
        [*((i,) for i in whole), whole, whole, whole], [*[()] * n, whole, (0,), (n, n + 1)], [*whole, *[None] * 3]
    )


@pytest.mark.parametrize(
    "generator",
    [Clusters(lambda g: [(0, 1)]), _anchored_at_the_first, _same_parts_other_children],
    ids=["parts", "anchors", "children"],
)
def test_a_generator_that_depends_on_the_numbering_is_found_out(generator: SchemeGenerator) -> None:
    # A path, where vertex 0 can be told from others; no symmetry hides the dependence.
    assert not is_permutation_invariant(generator, Graph([(0, 1), (1, 2), (2, 3), (3, 4)], n=5))

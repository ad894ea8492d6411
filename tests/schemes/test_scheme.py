"""Composition schemes made by hand (Definition 1): rules, levels, conversion, pictures."""

import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ccn import Graph, Scheme, batch
from ccn.errors import CCNError, SchemeError
from ccn.schemes import (
    Balls,
    Clusters,
    Neighbourhoods,
    SchemeGenerator,
    functional_groups,
    is_permutation_invariant,
    rings,
)
from ccn.schemes.generators import composition
from ccn.testing import random_graph

# The paper's first figure: n_1..n_10 and the root are nodes 0..10, e_1..e_4 atoms 0..3.
PARTS = [(0,), (1,), (2,), (3,), (2, 3), (0, 3), (1, 2), (1, 2, 3), (0, 1, 2), (0, 1, 3), (0, 1, 2, 3)]
CHILDREN = [(), (), (), (), (2, 3), (0, 3), (1, 2), (1, 4), (0, 6), (1, 5), (7, 8, 9)]


def test_the_first_figure_of_the_paper_has_its_levels_root_and_leaves() -> None:
    s = Scheme(PARTS, CHILDREN)
    assert s.atoms == 4
    assert s.root == 10
    assert s.leaves == (0, 1, 2, 3)
    assert s.heights == (0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3)
    assert s.levels == ((0, 1, 2, 3), (4, 5, 6), (7, 8, 9))
    assert s.anchors == (0, 1, 2, 3, *[None] * 7)
    assert s.violations() == []


def test_nodes_may_come_in_any_order_and_children_come_before_parents() -> None:
    # The figure numbered from the root down.
    s = Scheme(PARTS[::-1], [[10 - c for c in of] for of in CHILDREN[::-1]])
    assert s.root == 0
    assert s.heights == Scheme(PARTS, CHILDREN).heights[::-1]
    place = {node: i for i, node in enumerate(s.order)}
    assert sorted(place) == list(range(11))
    assert all(place[c] < place[i] for i, of in enumerate(s.children) for c in of)


def test_a_single_atom_is_leaf_and_root_at_once() -> None:
    s = Scheme([(0,)], [()])
    assert (s.root, s.leaves, s.levels, s.anchors) == (0, (0,), ((0,),), (0,))


def test_the_level_of_a_node_is_its_longest_way_down() -> None:
    s = Scheme([(0,), (1,), (0, 1), (0, 1), (0, 1)], [(), (), (0, 1), (0, 2), (3, 1)], [None, None, 1, 0, None])
    assert s.heights == (0, 0, 1, 2, 3)
    assert s.levels == ((0, 1), (2,), (3,))
    assert s.anchors == (0, 1, 1, 0, None)


@pytest.mark.parametrize(
    ("parts", "children", "options", "message"),
    [
        ([(0, 1), (1,), (0, 1)], [(), (), (0, 1)], {}, r"leaf rule: node 0 .*\(0, 1\)"),
        ([(0,), (1,)], [(), ()], {}, r"root rule: nodes \[0, 1\]"),
        ([(0,), (1,), (0, 1)], [(), (), (0, 1)], {"atoms": 3}, r"root rule: .*node 2, .*\[2\]"),
        ([], [], {}, "root rule"),
        (
            [(0,), (1,), (1,), (0, 1)],
            [(), (), (0, 1), (2,)],
            {},
            r"subset rule: node 0 .*node 2.*\[0\]",
        ),
        ([(0,), (0,), (0,)], [(), (0, 2), (1,)], {}, r"acyclic rule: nodes \[1, 2\]"),
        ([(0,), (0, 0)], [(), (0,)], {}, "part rule: node 1 "),
        ([(0,), (0, -1)], [(), (0,)], {}, r"part rule: node 1 .*\(0, -1\)"),
        ([(0,), (0, 5)], [(), (0,)], {"atoms": 2}, r"part rule: node 1 .*0\.\.1"),
        ([(0,), (0,)], [(), (7,)], {}, "child rule: node 1"),
        ([(0,), (0,)], [(), (0, 0)], {}, "child rule: node 1"),
        ([(0,), (0,)], [(), (0,)], {"anchors": [None, 4]}, "anchor rule: node 1 .*4"),
        ([(0,), (0,)], [()], {}, "2 parts.* 1 "),
        ([(0,), (0,)], [(), (0,)], {"anchors": [0]}, "1 anchors"),
    ],
)
def test_each_broken_rule_is_reported_by_name(parts: Any, children: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemeError, match=message):
        Scheme(parts, children, **options)


def test_several_broken_rules_are_all_reported() -> None:
    with pytest.raises(SchemeError, match=r"leaf rule: node 0.*root rule.*subset rule: node 0 .*node 1"):
        Scheme([(0, 2), (1,)], [(), (0,)])


def test_twins_have_one_part_and_the_same_children() -> None:
    """Two cliques that share vertex 2, and an edge far away."""
    clique, pair = Graph([(0, 1), (0, 2), (1, 2), (2, 3), (2, 4), (3, 4)], n=5), Graph([(0, 1)], n=2)
    scheme = composition(batch([clique, pair]), Neighbourhoods(), 2)
    for level in scheme.levels:
        nodes = level.nodes
        twin = {int(nodes.anchor[v]): int(nodes.anchor[first]) for v, first in enumerate(level.twins(own=False))}
        assert twin == {0: 0, 1: 0, 2: 2, 3: 3, 4: 3, 5: 5, 6: 5}
        assert level.twins(own=True).tolist() == list(range(7))


def test_networkx_round_trip() -> None:
    s = Scheme(PARTS, CHILDREN, [*[None] * 7, 2, 0, 3, None])
    dag = s.to_networkx()
    assert nx.is_directed_acyclic_graph(dag)
    # Edges lead from child to parent, as the paper draws them.
    assert set(dag.edges) == {(c, i) for i, of in enumerate(CHILDREN) for c in of}
    assert Scheme.from_networkx(dag) == s


def test_from_networkx_reads_any_names_and_wants_parts() -> None:
    dag = nx.DiGraph([("left", "top"), ("right", "top")])
    nx.set_node_attributes(dag, {"left": [0], "top": [1, 0], "right": [1]}, "atoms")
    s = Scheme.from_networkx(dag, part="atoms")
    assert (s.parts, s.children, s.root) == (((0,), (1, 0), (1,)), ((), (0, 2), ()), 1)
    with pytest.raises(SchemeError, match=r"'left' .*'part'"):
        Scheme.from_networkx(dag)


@pytest.mark.parametrize(("suffix", "start"), [(".svg", b"<?xml"), (".png", b"\x89PNG")])
def test_a_scheme_is_drawn_with_its_parts_to_svg_or_png_only(tmp_path: Path, suffix: str, start: bytes) -> None:
    path = Scheme(PARTS, CHILDREN).draw(tmp_path / f"figure{suffix}", names=["e1", "e2", "e3", "e4"])
    assert path.read_bytes().startswith(start)
    if suffix == ".svg":
        # matplotlib writes each text into a comment beside its outlines.
        for part in PARTS:
            assert "<!-- {" + ", ".join(f"e{a + 1}" for a in part) + "} -->" in path.read_text()
    with pytest.raises(CCNError, match=r"\.svg or \.png"):
        Scheme(PARTS, CHILDREN).draw(tmp_path / "figure.pdf")


def test_parts_anchors_and_names_must_fit() -> None:
    with pytest.raises(SchemeError):
        Scheme([[0.7], [1.2], [0, 1]], [(), (), (0, 1)])  # type: ignore[list-item]
    with pytest.raises(SchemeError):
        Scheme([(0,)], [()], anchors=["a"])  # type: ignore[list-item]
    with pytest.raises(SchemeError, match=r"anchor rule: leaf 0 .*1.*atom 0"):
        Scheme([(0,), (1,), (0, 1)], [(), (), (0, 1)], anchors=[1, None, None])
    with pytest.raises(CCNError, match=r"1 names.*2 atoms"):
        Scheme([(0,), (1,), (0, 1)], [(), (), (0, 1)]).draw("unused.svg", names=["a"])


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


def test_json_round_trip(tmp_path: Path) -> None:
    s = Scheme(PARTS, CHILDREN, [*[None] * 7, 2, 0, 3, None])
    assert Scheme.load(s.save(tmp_path / "s.json")) == s
    assert Scheme.from_json(json.loads(json.dumps(s.to_json()))) == s


GOOD = {"format": "ccn scheme 1", "parts": [[0], [1], [0, 1]], "children": [[], [], [0, 1]]}


@pytest.mark.parametrize(
    "data",
    [
        [], {}, {**GOOD, "format": "other"}, {**GOOD, "parts": 3}, {**GOOD, "parts": [[0], [1], "ab"]},
        {**GOOD, "parts": [[0], [1], [0, "x"]]}, {**GOOD, "children": [[], []]}, {**GOOD, "children": [[], [], [0, 9]]},
        {**GOOD, "anchors": {}}, {**GOOD, "anchors": ["a", None, None]}, {**GOOD, "atoms": 10**18},
        {**GOOD, "atoms": True},
        {**GOOD, "parts": [[0], [1], [0, None]]}, {**GOOD, "parts": [[0], [1], [[0], 1]]},
    ],
)  # fmt: skip
def test_json_that_is_no_scheme_is_refused(data: object, tmp_path: Path) -> None:
    assert Scheme.from_json(GOOD).atoms == 2
    (tmp_path / "s.json").write_text(json.dumps(data))
    with pytest.raises(SchemeError, match=r"s\.json"):
        Scheme.load(tmp_path / "s.json")


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000])
def test_a_file_that_is_no_json_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(SchemeError, match=r"s\.json"):
        Scheme.load(tmp_path / "s.json")

"""Scheme generators against plain sets, and the packed scheme of a batch against the scheme of each graph."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import ccn
from ccn import Graph, Pack, Scheme
from ccn.errors import CCNError, ConfigurationError, SchemeError
from ccn.graphs.adjacency import Power, Weights
from ccn.schemes import Balls, Clusters, Neighbourhoods, Nodes, Pairs, composition, functional_groups, packed, rings
from ccn.schemes.generators import has_free_children, keep
from ccn.testing import random_graph

graphs = st.builds(
    lambda n, seed, density, directed, self_loops: random_graph(
        n, np.random.default_rng(seed), density=density, directed=directed, self_loops=self_loops
    ),
    n=st.integers(1, 8),
    seed=st.integers(0, 10**6),
    density=st.sampled_from([0.0, 0.2, 0.5, 1.0]),
    directed=st.booleans(),
    self_loops=st.booleans(),
)


def _networkx(g: Graph) -> Any:
    """Who is whose neighbour: either way, without self-loops."""
    out = nx.Graph()
    out.add_nodes_from(range(g.n))
    out.add_edges_from((u, v) for u, v in g.entries.T.tolist() if u != v)
    return out


def _node(scheme: Scheme, level: int, i: int) -> tuple[set[int], set[int], int | None]:
    """Part, children as vertices, and anchor of vertex i's node."""
    node, n = level * scheme.atoms + i, scheme.atoms
    children = scheme.children[node]
    assert all(c // n == level - 1 for c in children)
    return set(scheme.parts[node]), {c % n for c in children}, scheme.anchors[node]


@given(g=graphs, closed=st.booleans(), levels=st.integers(1, 3))
@settings(deadline=None, max_examples=50)
def test_neighbourhoods_are_unions_over_the_neighbours(g: Graph, closed: bool, levels: int) -> None:
    scheme, near = Neighbourhoods(closed=closed, levels=levels)(g), _networkx(g)
    parts = [{i} for i in range(g.n)]
    for level in range(1, levels + 1):
        # An isolated vertex keeps itself in an open scheme too, and one with a self-loop is its own neighbour.
        loops = {u for u, v in g.entries.T.tolist() if u == v}
        children = [set(near[i]) | ({i} if closed or i in loops or not near[i] else set()) for i in range(g.n)]
        parts = [set().union(*(parts[j] for j in children[i])) for i in range(g.n)]
        for i in range(g.n):
            assert _node(scheme, level, i) == (parts[i], children[i], i)
    assert [len(level) for level in scheme.levels] == [g.n] * (levels + 1)
    assert set(scheme.parts[scheme.root]) == set(range(g.n))


@given(g=graphs, levels=st.integers(1, 3), most=st.sampled_from([None, 3]))
@settings(deadline=None, max_examples=30)
def test_whole_fields_have_the_parts_of_neighbourhoods_and_a_child_for_each_atom(
    g: Graph, levels: int, most: int | None
) -> None:
    how: dict[str, Any] = {"levels": levels, "max_part": most}
    plain, field = Neighbourhoods(**how)(g), Neighbourhoods(field=True, **how)(g)
    assert (field.parts, field.anchors, field.restricted) == (plain.parts, plain.anchors, True)
    for level in range(1, levels + 1):
        for i in range(g.n):
            part, children, _ = _node(field, level, i)
            assert children in (part, {i})
            assert children == part or most is not None


def test_children_that_reach_beyond_are_cut_to_the_part() -> None:
    path = Graph([(i, i + 1) for i in range(5)], n=6)
    level = composition(ccn.batch([path]), Neighbourhoods(field=True), 2).levels[1]
    cut = level.cut
    assert cut is not None
    for pairs in (level.stacked, level.own):
        for pair, (parent, child) in enumerate(zip(pairs.parent.tolist(), pairs.child.tolist(), strict=True)):
            at = slice(level.nodes.start[parent], level.nodes.start[parent + 1])
            of = slice(level.below.start[child], level.below.start[child + 1])
            places = pairs.place[pairs.start[pair] : pairs.start[pair + 1]]
            assert level.nodes.parts[at][places].tolist() == level.below.parts[of].tolist()
    pieces = slice(len(cut.whole), None)
    assert (np.diff(level.below.size[pieces]) >= 0).all()
    assert (level.below.size[pieces] < cut.whole.size[cut.node]).all()


@given(g=graphs, steps=st.lists(st.integers(0, 2), min_size=1, max_size=3))
@settings(deadline=None, max_examples=50)
def test_balls_hold_what_lies_within_their_radius(g: Graph, steps: list[int]) -> None:
    radii = (0, *np.cumsum(steps).tolist())
    scheme = Balls(radii)(g)
    distance = dict(nx.all_pairs_shortest_path_length(_networkx(g)))
    for level, (narrow, wide) in enumerate(pairwise(radii), start=1):
        for i in range(g.n):
            part, children, anchor = _node(scheme, level, i)
            assert part == {j for j, d in distance[i].items() if d <= wide}
            assert children == {j for j, d in distance[i].items() if d <= wide - narrow}
            assert anchor == i


@given(g=graphs)
@settings(deadline=None, max_examples=20)
def test_balls_of_radii_0_1_2_are_the_closed_scheme(g: Graph) -> None:
    assert Balls((0, 1, 2))(g) == Neighbourhoods(levels=2)(g)


@given(n=st.integers(2, 12), seed=st.integers(0, 10**6))
@settings(deadline=None, max_examples=20)
def test_in_an_open_scheme_level_two_of_a_tree_holds_no_adjacent_vertices(n: int, seed: int) -> None:
    tree = nx.random_labeled_tree(n, seed=seed)
    scheme = Neighbourhoods(closed=False, levels=2)(Graph.from_networkx(tree))
    for i in range(n):
        part = _node(scheme, 2, i)[0]
        assert part == {j for j, d in nx.single_source_shortest_path_length(tree, i).items() if d in (0, 2)}
        assert not any(tree.has_edge(a, b) for a in part for b in part)


def test_a_vertex_with_a_self_loop_is_its_own_neighbour_in_an_open_scheme() -> None:
    path = Graph([(0, 1), (1, 2), (1, 1)], n=4, self_loops=True)
    scheme = Neighbourhoods(closed=False, levels=1)(path)
    assert [scheme.children[4 + i] for i in range(4)] == [(1,), (0, 1, 2), (1,), (3,)]


def test_clusters_are_nodes_beside_the_vertices_with_the_nodes_within_them_as_children() -> None:
    square = Graph([(0, 1), (1, 2), (2, 3), (3, 0)], n=5)
    scheme = Clusters(lambda g: [(1, 0), (0, 1), (2,)], lambda g: [(2, 1, 0), (3, 4)])(square)
    leaves, first, second = scheme.levels
    assert [scheme.parts[i] for i in first] == [(0,), (1,), (2,), (3,), (4,), (0, 1)]
    assert [scheme.parts[i] for i in second] == [(0,), (1,), (2,), (3,), (4,), (0, 1, 2), (3, 4)]
    assert scheme.children[first[5]] == (leaves[0], leaves[1])
    assert scheme.children[second[5]] == (first[0], first[1], first[2], first[5])
    assert scheme.children[second[3]] == (first[3],)
    assert [scheme.anchors[i] for i in second] == [0, 1, 2, 3, 4, None, None]


def test_a_cluster_that_lies_in_none_of_the_next_level_is_a_child_of_the_root() -> None:
    path = Graph([(0, 1), (1, 2), (2, 3)], n=4)
    generator = Clusters(lambda g: [(0, 1)], lambda g: [(1, 2)])
    scheme = generator(path)
    first, second = scheme.levels[1:]
    assert scheme.parts[first[4]] == (0, 1)
    assert scheme.children[scheme.root] == (first[4], *second)
    _check_packed([path, Graph(n=2), path], Clusters(lambda g: [(0, 1)], lambda g: [(g.n - 1, g.n - 2)]))


@pytest.mark.parametrize(
    ("smiles", "max_size", "sizes"), [("C1CCC2CCCCC2C1", 8, [6, 6]), ("CC1CC1C1CCCC1", 8, [3, 5]), ("C1CCCCC1", 5, [])]
)
def test_rings_are_the_chordless_cycles_up_to_a_size(smiles: str, max_size: int, sizes: list[int]) -> None:
    g = Graph.from_smiles(smiles)
    found = [frozenset(ring) for ring in rings(max_size)(g)]
    assert sorted(map(len, found)) == sizes
    theirs = {frozenset(ring) for ring in g.mol.GetRingInfo().AtomRings() if len(ring) <= max_size}
    assert set(found) == theirs


def test_functional_groups_are_the_matches_of_the_patterns() -> None:
    g = Graph.from_smiles("OC(=O)CCN")
    assert {frozenset(match) for match in functional_groups("C(=O)O", "[NX3]C")(g)} == {
        frozenset({0, 1, 2}),
        frozenset({4, 5}),
    }
    parts = Clusters(functional_groups("C(=O)O"))(g).parts
    assert parts[6:-1] == (*((v,) for v in range(6)), (0, 1, 2))


def test_what_cannot_be_made_is_an_error_that_says_why() -> None:
    g = Graph([(0, 1)], n=2)
    with pytest.raises(ConfigurationError, match="levels"):
        Neighbourhoods()(g)
    for levels in (-1, 1.5):
        with pytest.raises(ConfigurationError, match=f"levels={levels}"):
            Neighbourhoods(levels=levels)  # type: ignore[arg-type]
    for radii in [(), (1, 2), (0, 2, 1)]:
        with pytest.raises(ConfigurationError, match="radii="):
            Balls(radii)
    with pytest.raises(ConfigurationError):
        Clusters()
    for wrong in [(0, 2), (-1, 0), (0, 0), ()]:
        with pytest.raises(SchemeError, match=r"cluster .* 0\.\.1"):
            Clusters(partial(lambda cluster, _: [cluster], wrong))(g)
    with pytest.raises(ConfigurationError, match=r"SMARTS 'C\(\('"):
        functional_groups("C((")
    with pytest.raises(CCNError):
        functional_groups("C")(g)


def _described(nodes: Nodes) -> list[tuple[tuple[int, ...], int]]:
    """Part and anchor of each node in storage order."""
    return [
        (tuple(part.tolist()), int(a))
        for part, a in zip(np.split(nodes.parts, nodes.start[1:-1]), nodes.anchor, strict=True)
    ]


def _check_pairs(pairs: Pairs, nodes: Nodes, below: Nodes) -> Counter[object]:
    """Check the places of each pair; the pairs as (parent's number, child's part and anchor)."""
    parents, children = _described(nodes), _described(below)
    for i, (p, c) in enumerate(zip(pairs.parent, pairs.child, strict=True)):
        part, (atoms, anchor) = parents[p][0], children[c]
        place = {a: j for j, a in enumerate(part)}
        assert pairs.place[pairs.start[i] : pairs.start[i + 1]].tolist() == [place.get(a, -1) for a in atoms]
        assert pairs.stack[i] == place.get(anchor, -1)
    return Counter((int(nodes.number[p]), *children[c]) for p, c in zip(pairs.parent, pairs.child, strict=True))


def _check_packed(batch: Sequence[Graph], generator: Any) -> None:
    b = ccn.batch(batch)
    packed, schemes = composition(b, generator), [generator(g) for g in batch]
    assert composition(b, generator) is packed
    assert len(packed.levels) + 1 == max(len(s.levels) for s in schemes)

    def renamed(g: int, node: int) -> tuple[tuple[int, ...], int]:
        anchor, first = schemes[g].anchors[node], int(b.start[g])
        return tuple(a + first for a in schemes[g].parts[node]), -1 if anchor is None else anchor + first

    def within(g: int, node: int, parent: int) -> tuple[tuple[int, ...], int]:
        """What a parent holds of a node, of which it reads no more."""
        (atoms, anchor), (part, _) = renamed(g, node), renamed(g, parent)
        return tuple(a for a in atoms if a in part), anchor

    for level in range(len(packed.levels) + 1):
        nodes = packed.nodes(level)
        members = [(g, node) for g, s in enumerate(schemes) if level < len(s.levels) for node in s.levels[level]]

        described = _described(nodes)
        assert [described[i] for i in nodes.storage] == [renamed(g, node) for g, node in members]
        assert nodes.graph[nodes.storage].tolist() == [g for g, _ in members]
        assert nodes.size.tolist() == sorted(nodes.size)
        assert [part[c] if c >= 0 else -1 for (part, _), c in zip(described, nodes.centre, strict=True)] == [
            a if a in part else -1 for part, a in described
        ]
        if level:
            above = packed.levels[level - 1]
            stacked, free = (_check_pairs(pairs, nodes, above.below) for pairs in (above.stacked, above.free))
            assert (above.stacked.stack >= 0).all()
            assert (above.free.stack < 0).all()
            assert has_free_children(generator, level) or not len(above.free)
            wanted = [
                (i, *within(g, c, node)) for i, (g, node) in enumerate(members) for c in schemes[g].children[node]
            ]
            assert stacked + free == Counter(wanted)
            _check_pairs(above.own, nodes, above.below)
            assert (nodes.anchor[above.own.parent] == above.below.anchor[above.own.child]).all()
            if isinstance(generator, Neighbourhoods | Balls):
                assert sorted(above.own.parent.tolist()) == list(range(b.n))


HOPS = [
    Neighbourhoods(levels=2),
    Neighbourhoods(closed=False, levels=3),
    Neighbourhoods(field=True, levels=3),
    Balls((0, 2, 3)),
]
NAMES = ["closed", "open", "field", "balls", "rings"]


@pytest.mark.parametrize("generator", [*HOPS, Clusters(rings(), rings())], ids=NAMES)
@given(batch=st.lists(graphs, min_size=1, max_size=4))
@settings(deadline=None, max_examples=15)
def test_the_packed_scheme_of_a_batch_is_the_scheme_of_each_graph(generator: Any, batch: list[Graph]) -> None:
    _check_packed(batch, generator)


def test_hand_made_schemes_of_different_depths_are_packed_with_their_skips() -> None:
    chain = Scheme([(0,), (1,), (1, 0), (0, 1), (0, 1)], [(), (), (0, 1), (1, 2), (3,)], [None, None, 1, None, None])
    # Node 4 has children of two levels, and one of them, node 3, an anchor outside of its part.
    mixed = Scheme(
        [(0,), (1,), (2,), (0, 1), (1, 0), (2, 0, 1)],
        [(), (), (), (0, 1), (0, 3), (2, 4)],
        [None, None, None, 2, None, None],
    )
    schemes = {2: chain, 3: mixed, 1: Scheme([(0,)], [()])}
    batch = [Graph(n=3), Graph(n=1), Graph(n=2), Graph(n=3)]

    def by_size(g: Graph) -> Scheme:
        return schemes[g.n]

    _check_packed(batch, by_size)
    second = composition(ccn.batch(batch), by_size).levels[1]
    assert (second.reach, second.skip) == (2, (0, 0, 0))
    assert len(second.free) == 2


def test_a_scheme_function_that_returns_something_else_is_an_error_that_names_the_graph() -> None:
    b = ccn.batch([Graph(n=1), Graph(n=2)])
    with pytest.raises(SchemeError, match=r"graph 0: .*int"):
        composition(b, lambda g: 7)
    with pytest.raises(SchemeError, match=r"graph 1: .*1 atoms.*2 vertices"):
        composition(b, lambda g: Scheme([(0,)], [()]))


def pack(**options: Any) -> Pack:
    rng = np.random.default_rng(3)
    return Pack.of([random_graph(int(rng.integers(1, 12)), rng, **options) for _ in range(12)])


def same(a: Any, b: Any) -> None:
    for name in ("size", "start", "parts", "anchor", "centre", "graph", "number"):
        assert np.array_equal(getattr(a, name), getattr(b, name))


@pytest.mark.parametrize("options", [{}, {"weighted": True}, {"directed": True}, {"self_loops": True}])
@pytest.mark.parametrize("how", ["select", "compact", "join"])
def test_batches_have_the_structure_that_is_made_from_the_graphs(options: dict[str, bool], how: str) -> None:
    bare = pack(**options)
    kept, chosen = keep(bare), [7, 2, 2, 11, 0]
    if how == "join":
        made = Pack.join([kept.select(chosen), kept])
        bare = Pack.join([bare.select(chosen), bare])
    else:
        made, bare = kept.select(chosen), bare.select(chosen)
        made = made.compact() if how == "compact" else made
    a, b = made.batch(), bare.batch()
    for levels in (1, 2, 4):
        x, y = (composition(of, Neighbourhoods(), levels) for of in (a, b))
        for number, (one, other) in enumerate(zip(x.levels, y.levels, strict=True), start=1):
            assert (one.inner is not None) == (number <= 2)
            same(one.nodes, other.nodes)
            for name in ("stacked", "free", "own"):
                for field in ("parent", "child", "stack", "start", "place"):
                    assert np.array_equal(getattr(getattr(one, name), field), getattr(getattr(other, name), field))
            r, s = one.restrict(a.entries), other.restrict(b.entries)
            for field in ("start", "row", "column", "entry"):
                assert np.array_equal(getattr(r, field), getattr(s, field))


@pytest.mark.parametrize(
    "scheme", [Neighbourhoods(), Neighbourhoods(closed=False), Neighbourhoods(max_part=3), Balls((0, 1, 2))]
)
def test_networks_of_every_scheme_and_channel_give_the_same_bits(scheme: Any) -> None:
    bare = pack(weighted=True)
    torch.manual_seed(0)
    net = ccn.CCN(
        bare.width, 1, order=2, levels=3, channels=4, scheme=scheme, adjacency_channels=(Weights(), Power(2))
    ).double()
    assert torch.equal(net(keep(bare)), net(bare))


def test_other_features_keep_it_and_one_pack_without_loses_it() -> None:
    bare = pack()
    kept = keep(bare)
    other = kept.select([3, 1]).with_features(np.ones((int(kept.sizes[[3, 1]].sum()), 2)))
    assert other.pieces("part2") is not None
    assert Pack.join([kept, bare]).pieces("part2") is None
    assert kept.bare().arrays.keys() == bare.arrays.keys()
    assert [g.n for g in kept] == [g.n for g in bare]


def test_it_is_small_and_grows_with_the_graphs_alone() -> None:
    smiles = ["CC(C)Cc1ccc(cc1)C(C)C(=O)O", "O=C(C)Oc1ccccc1C(=O)O", "CN1C=NC2=C1C(=O)N(C(=O)N2C)C"]
    bare = Pack.of(smiles)
    once, twice = (keep(p).nbytes - p.nbytes for p in (bare, Pack.join([bare] * 40)))
    assert twice < 40 * once
    assert twice / 120 < 2500


def test_no_graphs_keep_nothing() -> None:
    none = pack().select([])
    assert keep(none).arrays.keys() == none.arrays.keys()


def _star(leaves: int) -> Graph:
    return Graph(np.stack([np.zeros(leaves, np.int64), np.arange(1, leaves + 1)], axis=1), n=leaves + 1)


@pytest.mark.parametrize("scheme", [Neighbourhoods(), Balls((0, 2)), Neighbourhoods(closed=False)])
def test_large_parts_are_asked_for_before_they_are_grown(scheme: Any, peak: Any) -> None:
    b = ccn.batch([_star(20_000)])  # every part of two steps is the whole graph: 400 million atoms
    asked: list[tuple[Any, int]] = []

    def refuse(sizes: list[Any], numbers: int = 0) -> None:
        asked.append((sizes, numbers))
        raise ConfigurationError("too large")

    def compose() -> None:
        with pytest.raises(ConfigurationError, match="too large"):
            composition(b, scheme, 2, refuse)

    assert peak(compose) < 50e6
    sizes, numbers = asked[0]
    assert numbers > 400e6
    assert sizes[-1].sum() > 390e6


@pytest.mark.parametrize("scheme", [Neighbourhoods(max_part=30), Balls((0, 1, 3), max_part=30)])
def test_a_cut_part_takes_what_it_holds_beside_a_hub(scheme: Any, peak: Any) -> None:
    b = ccn.batch([_star(20_000)])
    assert peak(lambda: [level.restrict(b.entries) for level in composition(b, scheme, 2).levels]) < 100e6
    assert max(int(level.nodes.size.max()) for level in composition(b, scheme, 2).levels) == 2


def test_a_matrix_in_parts_is_the_same_where_hubs_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    b = ccn.batch([random_graph(30, rng, density=0.5, directed=True, self_loops=True), random_graph(9, rng)])
    level = composition(b, Neighbourhoods(max_part=9), 2).levels[0]
    plain = level.restrict(b.entries)
    monkeypatch.setattr(packed, "_TABLE_LIMIT", 0)
    for name, expected in vars(plain).items():
        np.testing.assert_array_equal(getattr(level.restrict(b.entries), name), expected)


def test_a_store_keeps_no_parts_that_hold_many_times_the_graph(peak: Any) -> None:
    pack = Pack.of([_star(20_000), Graph([(0, 1)], n=2)])
    assert peak(lambda: keep(pack)) < 50e6
    assert keep(pack).pieces("part1") is None
    assert keep(pack.select([1])).pieces("part2") is not None

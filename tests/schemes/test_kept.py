"""What a store keeps of the scheme: the same batches, the same networks, a few hundred bytes."""

from typing import Any

import numpy as np
import pytest
import torch

import ccn
from ccn import Pack
from ccn.graphs.adjacency import Power, Weights
from ccn.schemes.generators import Balls, Neighbourhoods, composition
from ccn.schemes.kept import keep
from ccn.testing import random_graph


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

"""Generalised contractions: their counts, order and names, and that what is called redundant is, and nothing else."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product
from math import comb

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sympy import bell as sympy_bell  # type: ignore[import-untyped]
from sympy.utilities.iterables import multiset_partitions  # type: ignore[import-untyped]

import ccn
from ccn.algebra import (
    Contraction,
    EquivariantMap,
    MatrixClass,
    Source,
    bell,
    contractions,
    distinct,
    equivariant_maps,
    preset,
    reduce,
    set_partitions,
)
from ccn.algebra.operations import contract, equivariant_map, permute
from ccn.errors import ConfigurationError
from ccn.reference import Child, aggregate

CLASSES = [MatrixClass(), MatrixClass(self_loops=True), MatrixClass(directed=True), MatrixClass(True, True)]
# Order k: all contractions of T (x) A to order k, then the distinct ones for each class in the order of CLASSES.
TABLE = {0: (5, 2, 4, 3, 5), 1: (20, 9, 13, 16, 20), 2: (50, 26, 32, 44, 50), 3: (100, 58, 66, 92, 100)}
M = 6  # as many as there are letters at k = 3, so that no two patterns are confused for want of room


def _matrix(kind: MatrixClass, rng: np.random.Generator) -> NDArray[np.float64]:
    a = rng.normal(size=(M, M))
    a = a if kind.directed else a + a.T
    return a if kind.self_loops else a - np.diag(np.diag(a))


def _values(listed: Sequence[Contraction], kind: MatrixClass) -> NDArray[np.float64]:
    """One row per contraction: its results on several random T and A of the class."""
    order_t, order_out = listed[0].order_in - 2, listed[0].order_out
    rng = np.random.default_rng(0)
    draws = []
    # Several draws at every order: a scalar times A, say, is one number a draw, however large its tensor.
    for _ in range(32 // (1 + order_out)):
        t, a = rng.normal(size=[M] * order_t), _matrix(kind, rng)
        draws.append([np.einsum(c.einsum, t, a).ravel() for c in listed])
    return np.concatenate([np.array(draw) for draw in draws], axis=1)


def _rank(rows: NDArray[np.float64]) -> int:
    return int(np.linalg.matrix_rank(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9), tol=1e-9))


def _growth(partition: tuple[tuple[int, ...], ...]) -> list[int]:
    """The block number of every item, items in increasing order."""
    return [number for _, number in sorted((item, i) for i, block in enumerate(partition) for item in block)]


@pytest.mark.parametrize("k", TABLE)
def test_counts_with_adjacency_are_those_of_the_table(k: int) -> None:
    everything = contractions(k + 3, k, "TA")
    assert (len(everything), *(len(distinct(everything, kind)) for kind in CLASSES)) == TABLE[k]


@pytest.mark.parametrize("k", range(4))
@pytest.mark.parametrize("kind", CLASSES, ids=str)
def test_without_adjacency_every_one_of_the_k_plus_one_is_distinct(k: int, kind: MatrixClass) -> None:
    everything = contractions(k + 1, k, "T")
    assert len(everything) == k + 1
    assert distinct(everything, kind) == everything


@given(n=st.integers(0, 7), data=st.data())
@settings(deadline=None, max_examples=30)
def test_there_are_binomial_times_bell_in_the_documented_order(n: int, data: st.DataObject) -> None:
    p = data.draw(st.integers(0, n))
    listed = ccn.contractions(order_in=n, order_out=n - p)
    assert len(listed) == comb(n, p) * bell(p)
    keys = [(c.survivors, _growth(c.blocks)) for c in listed]
    # Strictly increasing in (survivors, restricted growth string): sorted, and each once.
    assert all(a < b for a, b in pairwise(keys))
    assert all((c.order_in, c.order_out) == (n, n - p) for c in listed)


def test_the_fifty_of_order_two_split_into_ten_thirty_and_ten() -> None:
    assert Counter(c.kind for c in contractions(5, 2, "TA")) == {"1+1+1": 10, "1+2": 30, "3": 10}
    assert contractions(2, 2)[0].kind == "0"


@given(n=st.integers(1, 6), data=st.data())
@settings(deadline=None, max_examples=30)
def test_the_einsum_says_which_axes_survive_and_which_are_equal(n: int, data: st.DataObject) -> None:
    c = data.draw(st.sampled_from(contractions(n, data.draw(st.integers(0, n)))))
    letters, result = c.einsum.split("->")
    assert str(c) == c.einsum
    assert tuple(letters.index(x) for x in result) == c.survivors
    summed = dict.fromkeys(x for x in letters if x not in result)
    assert {tuple(i for i, y in enumerate(letters) if y == x) for x in summed} == set(c.blocks)


@pytest.mark.parametrize(("kept", "summed"), [(24, 1), (26, 26), (51, 1), (1, 51), (0, 52), (52, 0)])
def test_letters_never_collide_and_beyond_fifty_two_there_is_an_error(kept: int, summed: int) -> None:
    c = Contraction(tuple(range(kept)), tuple((kept + i,) for i in range(summed)))
    assert len(set(c.letters)) == c.order_in
    assert c.einsum.split("->")[1] == c.letters[:kept]
    more = Contraction(tuple(range(kept)), tuple((kept + i,) for i in range(53 - kept)))
    with pytest.raises(ConfigurationError, match=r"53 .*52"):
        _ = more.letters


def test_the_einsum_shows_the_factors_of_its_source() -> None:
    blocks = ((2, 3), (4,))
    assert Contraction((0, 1), blocks).einsum == "abxxy->ab"
    assert Contraction((0, 1), blocks, "TA").einsum == Contraction((0, 1), blocks, "UA").einsum == "abx,xy->ab"
    assert Contraction((0, 3), ((1, 2),), "TT").einsum == "ax,xb->ab"
    assert str(Contraction((0, 1), (), "own")) == "own ab->ab"
    # Nothing is known of the factors of a bare H, so nothing is redundant.
    assert all(reduce(c) == c for c in contractions(5, 2))


@pytest.mark.slow
@pytest.mark.parametrize("kind", CLASSES, ids=str)
@pytest.mark.parametrize("k", TABLE)
def test_reduction_is_exact_and_leaves_nothing_redundant(k: int, kind: MatrixClass) -> None:
    everything = contractions(k + 3, k, "TA")
    number = {c: i for i, c in enumerate(everything)}
    values = _values(everything, kind)
    for i, c in enumerate(everything):
        representative = reduce(c, kind)
        if representative is None:
            np.testing.assert_array_equal(values[i], 0)
        else:
            assert number[representative] <= i
            assert reduce(representative, kind) == representative
            np.testing.assert_allclose(values[i], values[number[representative]], rtol=1e-9, atol=1e-9)
    few = distinct(everything, kind)
    # The distinct ones are independent, and with `all` beside them the span is no larger.
    assert _rank(values[[number[c] for c in few]]) == len(few) == _rank(values)


def test_exchanging_the_factors_of_a_square_is_the_only_redundancy() -> None:
    everything = contractions(4, 1, "TT")
    rng = np.random.default_rng(1)
    draws = [rng.normal(size=(M, M)) for _ in range(8)]
    values = {c: np.concatenate([np.einsum(c.einsum, t, t) for t in draws]) for c in everything}
    for c in everything:
        representative = reduce(c)
        assert representative is not None
        np.testing.assert_allclose(values[c], values[representative], rtol=1e-9, atol=1e-9)
    few = distinct(everything)
    assert len(few) < len(everything)
    assert _rank(np.array([values[c] for c in few])) == len(few) == _rank(np.array(list(values.values())))
    assert len(contractions(6, 2, "TT")) == 225


@pytest.mark.parametrize("source", ["T", "TA"])
@pytest.mark.parametrize("k", range(4))
def test_presets_are_what_they_are_called(k: int, source: Source) -> None:
    n = k + (3 if source == "TA" else 1)
    everything = preset("all", n, k, source, channel=2)
    assert everything == contractions(n, k, source, 2)
    assert {c.channel for c in everything} == {2}
    assert preset("distinct", n, k, source) == distinct(contractions(n, k, source))
    assert preset("paper10", n, k, source) == tuple(c for c in contractions(n, k, source) if set(c.kind) <= set("1+"))
    assert len(preset("paper10", n, k, source)) == comb(n, k)


@pytest.mark.parametrize("orders", [(2, 3), (2, -1), (-1, 0)])
def test_an_impossible_order_is_an_error_that_names_it(orders: tuple[int, int]) -> None:
    with pytest.raises(ConfigurationError, match=f"order {orders[0]} to order {orders[1]}"):
        contractions(*orders)


@pytest.mark.parametrize(
    ("survivors", "blocks"),
    [((0,), ((0, 1),)), ((1, 0), ()), ((0,), ((2,),)), ((0,), ((1,), ())), ((), ((0, 1), (1,)))],
    ids=["both kept and summed", "out of order", "gap", "empty block", "in two blocks"],
)
def test_a_malformed_contraction_is_an_error(survivors: tuple[int, ...], blocks: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(ConfigurationError):
        Contraction(survivors, blocks)


def test_a_product_with_a_needs_its_two_axes_and_a_preset_a_known_name() -> None:
    with pytest.raises(ConfigurationError, match="TA"):
        Contraction((0,), (), "TA")
    with pytest.raises(ConfigurationError, match=r"'most'.*distinct, all, paper10"):
        preset("most", 3, 2, "T")
    with pytest.raises(ConfigurationError, match=r"'complete'.*equivariant_maps\(3, 2\)"):
        preset("complete", 3, 2, "T")


def test_bell_numbers_are_those_of_sympy() -> None:
    assert [bell(n) for n in range(12)] == [int(sympy_bell(n)) for n in range(12)]


@pytest.mark.parametrize("n", range(1, 8))
def test_partitions_are_those_of_sympy_each_once(n: int) -> None:
    ours = list(set_partitions(range(n)))
    theirs = {tuple(sorted(map(tuple, partition))) for partition in multiset_partitions(list(range(n)))}
    assert len(ours) == len(set(ours)) == bell(n)
    assert set(ours) == theirs


@pytest.mark.parametrize("n", range(1, 7))
def test_partitions_come_in_the_order_of_restricted_growth_strings(n: int) -> None:
    words = [_growth(partition) for partition in set_partitions(range(n))]
    assert words == sorted(words)
    assert words[0] == [0] * n
    assert words[-1] == list(range(n))
    assert list(set_partitions(())) == [()]


ORDERS = [(1, 0), (1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2)]


@pytest.mark.parametrize(("n", "out"), [*ORDERS, (0, 3), (4, 3)])
def test_there_are_bell_of_all_axes_each_once(n: int, out: int) -> None:
    maps = equivariant_maps(n, out)
    assert len(set(maps)) == len(maps) == bell(n + out)


@pytest.mark.parametrize(("n", "out"), [(1, 2), (2, 1), (2, 2)])
def test_a_map_is_its_definition_index_by_index(n: int, out: int) -> None:
    m = 3
    f = np.random.default_rng(0).normal(size=[m] * n + [2])
    for e in equivariant_maps(n, out):
        expected = np.zeros([m] * out + [2])
        for index in product(range(m), repeat=n + out):
            if all(len({index[a] for a in block}) == 1 for block in e.blocks):
                expected[index[n:]] += f[index[:n]]
        np.testing.assert_allclose(equivariant_map(torch.from_numpy(f), e).numpy(), expected, rtol=1e-12, atol=1e-12)


def test_from_order_zero_the_size_of_the_part_is_given_and_else_it_is_that_of_the_axes() -> None:
    f = torch.randn(2, dtype=torch.float64)
    apart, together = equivariant_maps(0, 2)[::-1]
    torch.testing.assert_close(equivariant_map(f, apart, m=3), f.expand(3, 3, 2))
    torch.testing.assert_close(equivariant_map(f, together, m=3), torch.eye(3).double()[..., None] * f)
    for tensor, e, m, message in [
        (f, apart, None, "order 0.*m="),
        (torch.randn(3, 2), equivariant_maps(1, 1)[0], 4, "m=4.* 3"),
        (f, equivariant_maps(1, 1)[0], 3, "order 1, .*order 0"),
    ]:
        with pytest.raises(ConfigurationError, match=message):
            equivariant_map(tensor, e, m)


def test_a_scalar_without_an_anchor_is_spread_over_the_whole_part() -> None:
    part, f = (4, 2, 7), torch.ones(2, dtype=torch.float64)
    weight = torch.zeros(1, 2, 2, dtype=torch.float64)
    weight_free = torch.tensor([[[2.0, 3.0]]], dtype=torch.float64)
    stacked, free = equivariant_maps(1, 1), equivariant_maps(0, 1, "U")
    bias = torch.zeros(1, dtype=torch.float64)
    out = aggregate(
        part, [Child((2,), f, None)], weight, bias, stacked, weight_free=weight_free, contractions_free=free
    )
    assert out.tolist() == [[5.0]] * 3


@given(orders=st.sampled_from(ORDERS), pi=st.permutations(range(4)), data=st.data())
@settings(deadline=None, max_examples=40)
def test_every_map_commutes_with_every_permutation(orders: tuple[int, int], pi: list[int], data: st.DataObject) -> None:
    e = data.draw(st.sampled_from(equivariant_maps(*orders)))
    f = torch.randn(*[4] * orders[0], 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(equivariant_map(permute(f, pi), e), permute(equivariant_map(f, e), pi))


@pytest.mark.parametrize(("n", "out"), ORDERS)
def test_the_maps_are_linearly_independent_on_enough_atoms(n: int, out: int) -> None:
    m = n + out
    generator = torch.Generator().manual_seed(0)
    # Channels are separate inputs to one linear map: as many samples as a map that only spreads scalars needs.
    f = torch.randn(*[m] * n, 16, dtype=torch.float64, generator=generator)
    rows = torch.stack([equivariant_map(f, e).flatten() for e in equivariant_maps(n, out)])
    assert int(torch.linalg.matrix_rank(rows / rows.norm(dim=1, keepdim=True), atol=1e-9)) == bell(m)


@pytest.mark.parametrize(("n", "out"), [(1, 0), (2, 1), (3, 1), (3, 2)])
def test_the_contractions_are_among_them(n: int, out: int) -> None:
    maps = set(equivariant_maps(n, out))
    f = torch.randn(*[3] * n, 2, dtype=torch.float64)
    for c in contractions(n, out):
        # A survivor shares its block with its place in the result.
        blocks = [*c.blocks, *((axis, n + place) for place, axis in enumerate(c.survivors))]
        e = EquivariantMap(n, out, tuple(sorted(blocks)))
        assert e in maps
        torch.testing.assert_close(equivariant_map(f, e), contract(f, c))


def test_the_einsum_shows_sums_copies_and_new_indices() -> None:
    assert EquivariantMap(2, 2, ((0, 2), (1,), (3,))).einsum == "ab->ac"
    assert str(EquivariantMap(1, 2, ((0, 1, 2),))) == "a->aa"
    with pytest.raises(ConfigurationError, match="53 "):
        _ = EquivariantMap(53, 0, tuple((a,) for a in range(53))).einsum


@pytest.mark.parametrize("k", range(4))
def test_every_contraction_is_read_from_what_it_prints(k: int) -> None:
    orders: dict[Source, int] = {"H": k, "T": k + 1, "TA": k + 3, "UA": k + 2}
    if k < 3:  # of the products of T with itself that a layer offers
        orders["TT"] = 2 * k + 2
    for source, n in orders.items():
        for c in (c for out in range(min(n, 3) + 1) for c in contractions(n, out, source)):
            read = Contraction.parse(str(c))
            assert (read.survivors, read.blocks) == (c.survivors, c.blocks)
            assert replace(read, source=source) == c
            assert read.source in ("H", source.replace("U", "T"))
    own = Contraction(tuple(range(k)), (), "own")
    assert Contraction.parse(str(own)) == own


@pytest.mark.parametrize(
    "text",
    ["", "some", "ab>a", "ab->c", "ab->ba", "aab->a", "ab->aa", "a,bxxy->ab", "ab,c,d->a", "a1->a", "own a,b->a"],
)
def test_a_string_that_is_no_contraction_is_refused_by_name(text: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(repr(text))):
        Contraction.parse(text)

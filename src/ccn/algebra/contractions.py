"""Set partitions, and what is enumerated from them: generalised contractions and all equivariant linear maps.

Step 5 of the aggregation rule chooses among contractions.

A contraction takes a P-tensor H of order n to order n - p. It names the surviving axes of H, in
their order, and partitions the other p axes into blocks; the axes of a block are set equal and
summed::

    C[i_survivors] = sum over one index per block of H[...]

There are ``C(n, p) * Bell(p)`` of them. They are listed with the survivors in lexicographic order
and, for each choice of survivors, the blocks in the order of :func:`set_partitions`.

In a layer H is ``T`` (order k+1: axes 0..k-1 are those of the children's tensors, axis k is the
stack), ``T (x) A`` (two more axes, k+1 and k+2) or ``T (x) T``. What is redundant then follows
from the index pattern alone:

* A symmetric: exchanging the two axes of A gives the same tensor;
* A with zero diagonal: a block that holds both axes of A gives zero;
* ``T (x) T``: exchanging the two factors gives the same tensor where it keeps the survivors' order.

>>> [len(contractions(n, n - p)) for n, p in [(3, 1), (3, 3), (4, 3), (5, 3), (6, 3)]]
[3, 5, 20, 50, 100]
>>> c = contractions(5, 2)[0]
>>> c.survivors, c.blocks, str(c)
((0, 1), ((2, 3, 4),), 'abxxx->ab')
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from itertools import combinations
from math import comb
from string import ascii_letters, ascii_uppercase
from typing import Literal, TypeVar

from ccn.errors import ConfigurationError

__all__ = [
    "PRESETS",
    "Contraction",
    "EquivariantMap",
    "MatrixClass",
    "Source",
    "bell",
    "contractions",
    "distinct",
    "equivariant_maps",
    "index_letters",
    "preset",
    "reduce",
    "set_partitions",
]


T = TypeVar("T")


@cache
def bell(n: int) -> int:
    """Number of set partitions of ``n`` things: ``Bell(n) = sum_i C(n-1, i) Bell(i)``.

    >>> [bell(n) for n in range(6)]
    [1, 1, 2, 5, 15, 52]
    """
    return 1 if n == 0 else sum(comb(n - 1, i) * bell(i) for i in range(n))


def set_partitions(items: Sequence[T]) -> Iterator[tuple[tuple[T, ...], ...]]:
    """All set partitions of ``items``, blocks ordered by their first item, coarsest first.

    The order is that of restricted growth strings: each item in turn joins the blocks that
    exist, first block first, and last opens a block of its own.

    >>> list(set_partitions("ab"))
    [(('a', 'b'),), (('a',), ('b',))]
    """
    if not items:
        yield ()
        return
    *head, last = items
    for partition in set_partitions(head):
        for i, block in enumerate(partition):
            yield (*partition[:i], (*block, last), *partition[i + 1 :])
        yield (*partition, (last,))


Source = Literal["H", "T", "TA", "TT", "U", "UA", "UU", "own"]
PRESETS = ("distinct", "all", "paper10", "complete")
_SUMMED = "xyzwvutsrqponmlkjihgfedcba" + ascii_uppercase


def index_letters(count: int) -> str:
    """The letters of ``count`` indices of an einsum, a b c ..; torch and numpy know 52."""
    if count > len(ascii_letters):
        raise ConfigurationError(
            f"{count} indices have no einsum form: there are {len(ascii_letters)} letters, so lower the order"
        )
    return ascii_letters[:count]


@dataclass(frozen=True)
class MatrixClass:
    """What is known of A before any number is: is it symmetric, is its diagonal zero?"""

    directed: bool = False
    self_loops: bool = False

    def __str__(self) -> str:
        symmetry = "directed" if self.directed else "symmetric"
        return f"{symmetry}, {'with' if self.self_loops else 'zero'} diagonal"

    def covers(self, other: MatrixClass) -> bool:
        """Whether every matrix of class ``other`` is of this class too."""
        return self.directed >= other.directed and self.self_loops >= other.self_loops


SIMPLE = MatrixClass()
"""The paper's graphs: symmetric, no self-loops."""


@dataclass(frozen=True)
class Contraction:
    """One generalised contraction: a small value that prints as its einsum.

    ``source`` says what H is: ``"T"``, ``"TA"`` for T (x) A, ``"TT"`` for T (x) T, ``"U"`` and
    ``"UA"`` for children without an anchor, ``"own"`` for the node's own promoted activation
    (no axis contracted), ``"H"`` where nothing is said. ``channel`` is the channel of A.
    """

    survivors: tuple[int, ...]
    blocks: tuple[tuple[int, ...], ...]
    source: Source = "H"
    channel: int = 0

    def __post_init__(self) -> None:
        axes = sorted([*self.survivors, *(a for block in self.blocks for a in block)])
        if axes != list(range(len(axes))) or list(self.survivors) != sorted(self.survivors) or not all(self.blocks):
            raise ConfigurationError(
                f"contraction with survivors {self.survivors} and blocks {self.blocks}: each axis 0..n-1 must "
                "appear once, survivors in increasing order, no empty block"
            )
        if self.source in ("TA", "UA") and len(axes) < 2:
            raise ConfigurationError(f"a contraction of {self.source} has at least A's two axes, got {axes}")

    @property
    def order_in(self) -> int:
        return len(self.survivors) + sum(map(len, self.blocks))

    @property
    def order_out(self) -> int:
        return len(self.survivors)

    @property
    def kind(self) -> str:
        """Sizes of the blocks as the paper writes them: ``1+1+1``, ``1+2`` or ``3`` for p = 3."""
        return "+".join(str(n) for n in sorted(map(len, self.blocks))) or "0"

    @cached_property
    def letters(self) -> str:
        """One letter per axis of H; equal letters are equal indices, a b c .. survive."""
        kept = index_letters(self.order_out + len(self.blocks))[: self.order_out]
        letter = dict(zip(self.survivors, kept, strict=True))
        for block, x in zip(self.blocks, (x for x in _SUMMED if x not in kept), strict=False):
            letter.update(dict.fromkeys(block, x))
        return "".join(letter[a] for a in range(self.order_in))

    @property
    def einsum(self) -> str:
        """The einsum of the factors of H, for example ``abx,xy->ab`` for T (x) A."""
        tensor_with_a, square = self.order_in - 2, self.order_in // 2  # where the second factor begins
        cut = {"TA": tensor_with_a, "UA": tensor_with_a, "TT": square, "UU": square}.get(self.source)
        inputs = self.letters if cut is None else f"{self.letters[:cut]},{self.letters[cut:]}"
        return f"{inputs}->{ascii_letters[: self.order_out]}"

    def __str__(self) -> str:
        return f"own {self.einsum}" if self.source == "own" else self.einsum

    @classmethod
    def parse(cls, text: str) -> Contraction:
        """The contraction that prints as ``text``, or the same with other letters.

        A comma says that H is T (x) A or T (x) T; the source is ``"H"`` without one, and where both have this form.

        >>> Contraction.parse("ijk,kl->ij")
        Contraction(survivors=(0, 1), blocks=((2, 3), (4,)), source='TA', channel=0)
        """
        own, word = text.strip().startswith("own "), text.strip().removeprefix("own ").replace(" ", "")
        inputs, arrow, kept = word.partition("->")
        letters, n, cut = inputs.replace(",", "", 1), len(inputs.replace(",", "", 1)), inputs.find(",")
        survivors = tuple(letters.find(x) for x in kept)
        why = ""
        if not arrow or (own and cut >= 0) or not all(x in ascii_letters for x in letters + kept):
            why = "it is not an einsum such as 'abx,xy->ab'"
        elif any(letters.count(x) != 1 or kept.count(x) != 1 for x in kept) or list(survivors) != sorted(survivors):
            why = f"{kept!r} must name axes that occur once on either side, in the same order"
        elif cut >= 0 and cut not in (n - 2, n / 2):
            why = "the comma comes before the two axes of A, or between the two T"
        if why:
            raise ConfigurationError(f"{text!r} is not a contraction: {why}; see `ccn contractions`")
        source: Source = "own" if own else "H" if cut < 0 or 2 * cut == n == 4 else "TA" if cut == n - 2 else "TT"
        summed = dict.fromkeys(x for x in letters if x not in kept)
        return cls(survivors, tuple(tuple(a for a in range(n) if letters[a] == x) for x in summed), source)

    def _renamed(self, axis: Sequence[int]) -> Contraction | None:
        """The contraction after axis i of H was moved to ``axis[i]``; None if survivors change order."""
        survivors = tuple(axis[a] for a in self.survivors)
        if list(survivors) != sorted(survivors):
            return None
        blocks = tuple(sorted(tuple(sorted(axis[a] for a in block)) for block in self.blocks))
        return replace(self, survivors=survivors, blocks=blocks)


@lru_cache(maxsize=64)
def contractions(order_in: int, order_out: int, source: Source = "H", channel: int = 0) -> tuple[Contraction, ...]:
    """All generalised contractions from ``order_in`` to ``order_out``, in the documented order."""
    if not 0 <= order_out <= order_in:
        raise ConfigurationError(
            f"a contraction cannot take order {order_in} to order {order_out}: "
            "the order of the result lies between 0 and the order of the input"
        )
    return tuple(
        Contraction(survivors, blocks, source, channel)
        for survivors in combinations(range(order_in), order_out)
        for blocks in set_partitions([a for a in range(order_in) if a not in survivors])
    )


def reduce(c: Contraction, matrix: MatrixClass = SIMPLE) -> Contraction | None:
    """The representative of ``c`` among contractions that agree for every A of the class, or None for zero.

    The representative is the one that comes first in the enumeration.
    """
    n = c.order_in
    identity = list(range(n))
    if c.source in ("TA", "UA"):
        u, v = n - 2, n - 1
        if not matrix.self_loops and any(u in block and v in block for block in c.blocks):
            return None
        swap = None if matrix.directed else [*identity[:u], v, u]
    elif c.source in ("TT", "UU"):
        swap = identity[n // 2 :] + identity[: n // 2]
    else:
        swap = None
    if swap is None:
        return c
    images = [image for image in (c._renamed(identity), c._renamed(swap)) if image is not None]
    # A surviving with both its axes, [.., u, v], is its own image under the exchange: nothing to merge.
    return min(images, key=lambda image: (image.survivors, _growth(image)))


def _growth(c: Contraction) -> tuple[int, ...]:
    """Place of the blocks in the order of set_partitions: the restricted growth string."""
    number = {a: i for i, block in enumerate(sorted(c.blocks)) for a in block}
    return tuple(number[a] for a in sorted(number))


def distinct(all_of_them: Iterable[Contraction], matrix: MatrixClass = SIMPLE) -> tuple[Contraction, ...]:
    """The representatives of a set of contractions, each once, zeros left out."""
    reduced = (reduce(c, matrix) for c in all_of_them)
    return tuple(dict.fromkeys(c for c in reduced if c is not None))


def preset(
    name: str, order_in: int, order_out: int, source: Source, matrix: MatrixClass = SIMPLE, channel: int = 0
) -> tuple[Contraction, ...]:
    """A set of contractions by name.

    ``all``: every one; ``distinct``: one of each class of equal ones, no zeros (the same functions as
    ``all``); ``paper10``: all blocks of size one, which is what the paper's experiments used. The
    remaining name in PRESETS, ``complete``, is a basis of maps: see :func:`equivariant_maps`.
    """
    everything = contractions(order_in, order_out, source, channel)
    if name == "all":
        return everything
    if name == "distinct":
        return distinct(everything, matrix)
    if name == "paper10":
        return tuple(c for c in everything if all(len(block) == 1 for block in c.blocks))
    if name == "complete":
        raise ConfigurationError(
            f"contractions='complete' is a basis of linear maps, not a set of contractions of {source}: "
            f"equivariant_maps({order_in}, {order_out}) lists it"
        )
    raise ConfigurationError(
        f"contractions={name!r} is not known; choose one of {', '.join(PRESETS)}, or list them, such as ['abx,xy->ab']"
    )


@dataclass(frozen=True)
class EquivariantMap:
    """A map of the basis; ``blocks`` partitions the axes ``0..order_in-1`` and then those of the output.

    ``(M F)[out]`` is the sum over F's indices, with all axes of a block equal, of ``F[in]``: a block of input axes is
    summed, a block of input and output axes copies an index, along a block of output axes the result is spread.
    """

    order_in: int
    order_out: int
    blocks: tuple[tuple[int, ...], ...]
    source: Source = "T"
    channel: int = 0

    @property
    def einsum(self) -> str:
        """Equal letters are equal indices; a letter on the right alone is a new index."""
        names = index_letters(len(self.blocks))
        letter = {axis: x for x, block in zip(names, self.blocks, strict=True) for axis in block}
        word = "".join(letter[a] for a in range(self.order_in + self.order_out))
        return f"{word[: self.order_in]}->{word[self.order_in :]}"

    def __str__(self) -> str:
        return self.einsum


@lru_cache(maxsize=64)
def equivariant_maps(order_in: int, order_out: int, source: Source = "T") -> tuple[EquivariantMap, ...]:
    """The complete basis, ``Bell(order_in + order_out)`` maps in the order of :func:`set_partitions`.

    A linear map commutes with every permutation iff it is a combination of these. Contractions are those where every
    output axis has exactly one input axis in its block, in increasing order.

    >>> len(equivariant_maps(3, 2)), len(equivariant_maps(2, 2))
    (52, 15)
    """
    partitions = set_partitions(range(order_in + order_out))
    return tuple(EquivariantMap(order_in, order_out, blocks, source) for blocks in partitions)

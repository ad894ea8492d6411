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
    "adjacency_maps",
    "bell",
    "contractions",
    "distinct",
    "equivariant_maps",
    "index_letters",
    "preset",
    "reduce",
    "set_partitions",
    "unstacked",
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


Source = Literal["H", "T", "TA", "TT", "TTA", "U", "UA", "UU", "UUA", "own"]
PRESETS = ("distinct", "all", "paper10", "authors18", "complete")
_AUTHORS18 = (
    "sp|q,d,e sd|p,q,e pq|s,d,e pd|s,q,e de|s,p,q sp|qd,e sp|de,q sd|pq,e sd|pe,q pq|sd,e pd|sq,e pd|se,q pd|qe,s "
    "de|sp,q de|pq,s sd|pqe pd|sqe de|spq"
)  # survivors | blocks, of the axes p and q of a tensor, the stack s and the axes d and e of A
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
    """What is known of A before any number is: is it symmetric, is its diagonal zero?

    Example:
        >>> from ccn.algebra import preset
        >>> [len(preset("distinct", 4, 2, "TA", MatrixClass(directed=d))) for d in (False, True)]
        [7, 11]
    """

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
        if self.source in ("TTA", "UUA"):
            half = tensor_with_a // 2
            inputs = ",".join((self.letters[:half], self.letters[half : 2 * half], self.letters[2 * half :]))
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
    """All generalised contractions from ``order_in`` to ``order_out``, in the documented order.

    Example:
        >>> len(contractions(5, 2)), [str(c) for c in contractions(3, 2)]
        (50, ['abx->ab', 'axb->ab', 'xab->ab'])
    """
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

    Example:
        >>> c = Contraction.parse("abx,xx->ab")  # the diagonal of A, which is zero without self-loops
        >>> reduce(c), reduce(c, MatrixClass(self_loops=True)) is None
        (None, False)
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
    """The representatives of a set of contractions, each once, zeros left out.

    Example:
        >>> len(distinct(contractions(5, 2, "TA"))), len(contractions(5, 2, "TA"))
        (26, 50)
    """
    reduced = (reduce(c, matrix) for c in all_of_them)
    return tuple(dict.fromkeys(c for c in reduced if c is not None))


def preset(
    name: str, order_in: int, order_out: int, source: Source, matrix: MatrixClass = SIMPLE, channel: int = 0
) -> tuple[Contraction, ...]:
    """A set of contractions by name.

    ``all``: every one; ``distinct``: one of each class of equal ones, no zeros (the same functions as
    ``all``); ``paper10``: all blocks of size one, which is what the paper's experiments used; ``authors18``: those of
    its authors' later code, for order 2 with A. The
    remaining name in PRESETS, ``complete``, is a basis of maps: see :func:`equivariant_maps`.

    Example:
        >>> len(preset("paper10", 5, 2, "TA")), [str(c) for c in preset("all", 3, 1, "T")][:2]
        (10, ['axx->a', 'axy->a'])
    """
    everything = contractions(order_in, order_out, source, channel)
    if name == "all":
        return everything
    if name == "distinct":
        return distinct(everything, matrix)
    if name == "paper10":
        return tuple(c for c in everything if all(len(block) == 1 for block in c.blocks))
    if name == "authors18":
        if (order_in, order_out, source) != (5, 2, "TA"):
            raise ConfigurationError(
                "contractions='authors18' are those of order 2 with A, from 5 axes to 2; choose another preset here"
            )
        return tuple(_of_letters(word, channel) for word in _AUTHORS18.split())
    if name == "complete":
        raise ConfigurationError(
            f"contractions='complete' is a basis of linear maps, not a set of contractions of {source}: "
            f"equivariant_maps({order_in}, {order_out}) lists it"
        )
    raise ConfigurationError(
        f"contractions={name!r} is not known; choose one of {', '.join(PRESETS)}, or list them, such as ['abx,xy->ab']"
    )


def _of_letters(word: str, channel: int) -> Contraction:
    """A contraction of T (x) A at order 2 from letters: ``sp|q,de``."""
    axis = dict(zip("pqsde", range(5), strict=True))
    survivors, _, blocks = word.partition("|")
    return Contraction(
        tuple(sorted(axis[x] for x in survivors)),
        tuple(sorted(tuple(sorted(axis[x] for x in block)) for block in blocks.split(","))),
        "TA",
        channel,
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
        inputs = word[: self.order_in]
        if self.source in ("TA", "UA"):
            inputs = f"{inputs[:-2]},{inputs[-2:]}"
        return f"{inputs}->{word[self.order_in :]}"

    def __str__(self) -> str:
        return self.einsum

    @classmethod
    def parse(cls, text: str) -> EquivariantMap:
        """The map that prints as ``text``, or the same with other letters; a comma stands before the axes of A.

        Elementwise products with A are among them: a letter may stand in both factors and on the right.

        >>> str(EquivariantMap.parse("ijk,ij->ij"))
        'abc,ab->ab'
        """
        inputs, arrow, kept = text.replace(" ", "").partition("->")
        factors = inputs.split(",")
        if not arrow or len(factors) > 2 or not all(x in ascii_letters for x in "".join(factors) + kept):
            raise ConfigurationError(f"{text!r} is not an einsum such as 'abx,ab->ab'; see `ccn contractions`")
        if len(factors) == 2 and len(factors[1]) != 2:
            raise ConfigurationError(f"{text!r}: the comma comes before the two axes of A")
        word = "".join(factors) + kept
        blocks = tuple(tuple(a for a, x in enumerate(word) if x == y) for y in dict.fromkeys(word))
        return cls(len("".join(factors)), len(kept), blocks, "TA" if len(factors) == 2 else "T")


def unstacked(c: Contraction | EquivariantMap, stack: int) -> Contraction | EquivariantMap | None:
    """The same map of U, which lacks the stacking axis of T, if that axis is a block of its own, else None.

    Such a map sums over the stack, so that children need no place on it.

    >>> str(unstacked(Contraction.parse("abx,yz->ab"), 2)), unstacked(Contraction.parse("abx,xz->ab"), 2)
    ('ab,xy->ab', None)
    """
    if (stack,) not in c.blocks or c.source not in ("H", "T", "TA"):
        return None
    source: Source = {"T": "U", "TA": "UA"}.get(c.source, c.source)  # type: ignore[assignment]
    blocks = tuple(tuple(a - (a > stack) for a in block) for block in c.blocks if block != (stack,))
    if isinstance(c, EquivariantMap):
        return replace(c, order_in=c.order_in - 1, blocks=blocks, source=source)
    return replace(c, survivors=tuple(a - (a > stack) for a in c.survivors), blocks=blocks, source=source)


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


@lru_cache(maxsize=64)
def adjacency_maps(
    order_in: int, order_out: int, source: Source, matrix: MatrixClass = SIMPLE, channel: int = 0
) -> tuple[EquivariantMap, ...]:
    """The equivariant maps of T (x) A that are linear in T: all of them, each once, without those that vanish.

    The axes of A are the last two of ``order_in``. Contractions and elementwise products are among them.

    >>> len(adjacency_maps(3, 0, "TA")), len(adjacency_maps(4, 1, "TA"))
    (2, 21)
    """
    u, v = order_in - 2, order_in - 1
    swap = {u: v, v: u} if not matrix.directed else {}
    found: dict[tuple[tuple[int, ...], ...], EquivariantMap] = {}
    for blocks in set_partitions(range(order_in + order_out)):
        if not matrix.self_loops and any(u in block and v in block for block in blocks):
            continue
        image = tuple(sorted(tuple(sorted(swap.get(a, a) for a in block)) for block in blocks))
        key = min(tuple(sorted(blocks)), image)
        found.setdefault(key, EquivariantMap(order_in, order_out, blocks, source, channel))
    return tuple(found.values())

"""The complete basis of equivariant linear maps between P-tensors.

A linear map from order n to order n' commutes with every permutation iff it is a combination of
the maps, one for each set partition of the n + n' axes,

    (M F)[out] = sum over F's indices, with all axes of a block equal, of F[in].

A block of input axes is summed; a block with input and output axes copies an index of F to one or
more places of the result; a block of output axes is a new index: the result is spread along it.
There are ``Bell(n + n')``. Contractions are those where every output axis has exactly one input
axis in its block, in increasing order.

>>> len(equivariant_maps(3, 2)), len(equivariant_maps(2, 2))
(52, 15)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ccn.algebra.contractions import Source, index_letters
from ccn.algebra.partitions import set_partitions

__all__ = ["EquivariantMap", "equivariant_maps"]


@dataclass(frozen=True)
class EquivariantMap:
    """One basis map; ``blocks`` partitions the axes ``0..order_in-1`` and then those of the output."""

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
    """All ``Bell(order_in + order_out)`` basis maps, in the order of :func:`set_partitions`."""
    partitions = set_partitions(range(order_in + order_out))
    return tuple(EquivariantMap(order_in, order_out, blocks, source) for blocks in partitions)

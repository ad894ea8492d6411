"""Sets of tokens, compared with many others at once.

A token is a number of 32 bits that stands for one occurrence of something in a graph. The frequent tokens of the rows
that are compared with are columns of a dense matrix, the many rare ones of a sparse matrix: products of the first
are quick because they are dense, and those of the second because hardly any two rows share a rare token.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ccn.graphs.ragged import Int, starts

__all__ = ["Tokens", "numbered"]

_TOGETHER = 512  # graphs compared at a time
_DENSE = 512  # tokens, the most frequent, that are compared by dense products
_MOST = 1 << 17  # rows in a file


def numbered(pieces: Sequence[tuple[Int, NDArray[np.uint32]]]) -> NDArray[np.uint64]:
    """Pairs of a graph and a token as one number each, ``graph * 2^32 + token``, distinct and in order."""
    return np.unique(np.concatenate([(graph.astype(np.uint64) << np.uint64(32)) | token for graph, token in pieces]))


def _apart(found: NDArray[np.uint64]) -> tuple[Int, NDArray[np.uint32]]:
    """The graphs and the tokens of :func:`numbered` pairs."""
    return (found >> np.uint64(32)).astype(np.int64), found.astype(np.uint32)


@dataclass(frozen=True, eq=False)
class Tokens:
    """A set of tokens for each of some rows.

    Attributes:
        vocabulary: the tokens, in order of size.
        start: (rows + 1,) where each row begins in ``place``.
        place: of each token in the vocabulary.
    """

    vocabulary: NDArray[np.uint32]
    start: Int
    place: NDArray[np.unsignedinteger[Any]]

    @classmethod
    def of(cls, found: NDArray[np.uint64], rows: int) -> Self:
        """From ``found``, which is :func:`numbered` tokens of ``rows`` rows."""
        row, token = _apart(found)
        vocabulary, place = np.unique(token, return_inverse=True)
        small: NDArray[Any] = place.astype(np.uint16 if len(vocabulary) <= 1 << 16 else np.uint32)
        return cls(vocabulary, starts(np.bincount(row, minlength=rows)), small)

    def __len__(self) -> int:
        return len(self.start) - 1

    @cached_property
    def _parts(self) -> tuple[Int, NDArray[np.float32], Any]:
        """For each token its column in the dense part, else -1; the dense part (rows, columns) and the sparse one."""
        import scipy.sparse as sp

        count = np.bincount(self.place, minlength=len(self.vocabulary))
        frequent = np.argsort(-count, kind="stable")[:_DENSE]
        column = np.full(len(self.vocabulary), -1)
        column[frequent] = np.arange(len(frequent))
        row = np.repeat(np.arange(len(self)), np.diff(self.start))
        dense = np.zeros((len(self), len(frequent)), dtype=np.float32)
        there = column[self.place] >= 0
        dense[row[there], column[self.place[there]]] = 1
        rare = (np.ones((~there).sum(), np.float32), (self.place[~there].astype(np.int64), row[~there]))
        return column, dense, sp.csr_array(rare, shape=(len(self.vocabulary), len(self)))

    def shares(self, found: NDArray[np.uint64], graphs: int) -> NDArray[np.float32]:
        """(graphs, rows) the share of tokens in common with those of some graphs, :func:`numbered` by these."""
        import scipy.sparse as sp

        if not len(self.vocabulary):
            return np.zeros((graphs, len(self)), dtype=np.float32)
        column, dense, rare = self._parts
        graph, token = _apart(found)
        size = np.bincount(graph, minlength=graphs).astype(np.float32)
        at = np.minimum(np.searchsorted(self.vocabulary, token), len(self.vocabulary) - 1)
        known = self.vocabulary[at] == token
        graph, at = graph[known], at[known]
        often = column[at] >= 0
        left = np.zeros((graphs, dense.shape[1]), dtype=np.float32)
        left[graph[often], column[at[often]]] = 1
        both: NDArray[np.float32] = left @ dense.T
        some = (np.ones((~often).sum(), np.float32), (graph[~often], at[~often]))
        more = (sp.csr_array(some, shape=(graphs, len(self.vocabulary))) @ rare).tocoo()
        both[more.coords] += more.data  # each place once
        share: NDArray[np.float32] = both / np.maximum(size[:, None] + np.diff(self.start).astype(np.float32) - both, 1)
        return share

    def compared(self, found: NDArray[np.uint64], graphs: int) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """(some graphs, rows) the shares of some graphs at a time, and which graphs these are."""
        for start in range(0, graphs, _TOGETHER):
            stop = min(start + _TOGETHER, graphs)
            first, last = np.searchsorted(found, np.array([start, stop], dtype=np.uint64) << np.uint64(32))
            yield slice(start, stop), self.shares(found[first:last] - (np.uint64(start) << np.uint64(32)), stop - start)

    def state(self) -> dict[str, Tensor]:
        """The arrays as tensors of signed integers, which every reader of the format knows."""
        signed = np.int16 if self.place.dtype == np.uint16 else np.int32
        arrays = {
            "vocabulary": self.vocabulary.view(np.int32),
            "start": self.start.astype(np.int32),
            "place": self.place.view(signed),
        }
        return {key: torch.from_numpy(a.copy()) for key, a in arrays.items()}

    @classmethod
    def from_state(cls, tensors: Mapping[str, Tensor]) -> Self:
        """What :meth:`state` gave; a ValueError if it is nothing of the kind."""
        found = [tensors[key] for key in ("vocabulary", "start", "place")]
        if (
            any(t.ndim != 1 for t in found)
            or [t.dtype for t in found[:2]] != [torch.int32] * 2
            or found[2].dtype not in (torch.int16, torch.int32)
        ):
            raise ValueError("tokens of training graphs must be integers in a row")
        vocabulary, start = found[0].numpy().view(np.uint32), found[1].numpy().astype(np.int64)
        place = found[2].numpy()
        place = place.view(np.uint16 if place.dtype == np.int16 else np.uint32)
        if (
            not 2 <= len(start) <= _MOST + 1
            or start[0] != 0
            or start[-1] != len(place)
            or (np.diff(start) < 0).any()
            or (vocabulary[1:] <= vocabulary[:-1]).any()
            or (len(place) and int(place.max()) >= len(vocabulary))
        ):
            raise ValueError("tokens of training graphs that are out of order or out of bounds")
        return cls(vocabulary, start, place)

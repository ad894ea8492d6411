"""The distance of a graph from the training graphs of a model: its applicability domain.

What flows: training graphs -> kinds of their parts (:func:`ccn.methods.kernels.parts.part_bags`), each occurrence a
*token*, a salted hash of 32 bits -> for a new graph g and every training graph h the share of tokens in common,

    k(g, h) = |g and h| / |g or h|,

the covariant kernel of parts up to level 2, and

    distance(g) = 1 - max over h of k(g, h),

0 for a training graph and 1 for a graph that has no part in common with any. The same share of Morgan's circular
substructures is given beside it where the model reads them. Two thresholds, chosen on rows that were not fitted
(:func:`ccn.learning.trust.thresholds`), turn the distance into a word.

A domain holds hashes, no graphs: it can recognise a part, not tell what it is. Of many training graphs it compares with
a draw of :data:`MOST_ROWS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ccn.errors import CCNError
from ccn.features.vertices import neighbours
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Int
from ccn.learning.fitted import under
from ccn.learning.inputs import Inputs
from ccn.learning.task import Floats
from ccn.learning.trust import WORDS
from ccn.methods.kernels.bags import Bag, Names, graph_of, name, unary, vertex_names
from ccn.methods.kernels.parts import part_bags
from ccn.methods.tokens import Tokens, numbered

__all__ = ["MOST_ROWS", "Assessment", "Domain", "fit_domain"]

MOST_ROWS = 8_000
"""Training graphs that a domain compares with."""
_MOST_KNOWN = 20_000  # training graphs whose kinds of parts are known
_LEVELS = 2
_DEGREE = 32  # above which parts are seen at order 1, since those of order 2 would be large
_MORGAN = "morgan"


@dataclass(frozen=True, eq=False)
class Assessment:
    """The distances of some graphs from the training graphs of a model.

    Attributes:
        distance: (graphs,) to the nearest training graph, in [0, 1].
        word: one of :data:`ccn.learning.trust.WORDS` for each graph.
        rows: (graphs, k) the nearest training graphs, nearest first, as rows of the domain (and so of
            :attr:`ccn.learning.model.Model.measured`).
        similarity: (graphs, k) with these, by parts.
        morgan: (graphs, k) with these, by Morgan's substructures; None where the model does not read them.
        nearest_morgan: (graphs,) the largest such similarity with any training graph; or None.
        unseen: for each graph what training never had, such as ``element B; 3 of 21 parts``, or an empty text.
    """

    distance: Floats
    word: NDArray[np.str_]
    rows: Int
    similarity: Floats
    morgan: Floats | None
    nearest_morgan: Floats | None
    unseen: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.distance)


@dataclass(frozen=True, eq=False)
class Domain:
    """What a model has learned from, as far as new graphs can be compared with it.

    Attributes:
        salt: of the hashes, another one in every model.
        parts: the tokens of the training graphs by kinds of parts.
        morgan: those of Morgan's substructures, or None.
        morgan_at: the columns of ``graph_features`` that count them.
        known: hashes of the kinds of parts at level 1, a vertex with its neighbours, that training had, in order.
        columns: (columns,) whether any training graph has a vertex with something in this column of its features.
        names: of these columns, such as ``element=B``; empty where they are not known.
        order: at which parts are seen.
        labels: vertices are compared by their features, else by the structure alone.
        edges: bonds are compared by their features too.
        inside, outside: graphs up to the first distance are inside, beyond the second outside.
    """

    salt: int
    parts: Tokens
    morgan: Tokens | None
    morgan_at: tuple[int, int]
    known: NDArray[np.uint32]
    columns: NDArray[np.bool_]
    names: tuple[str, ...]
    order: int
    labels: bool
    edges: bool
    inside: float = 1.0
    outside: float = 1.0

    @classmethod
    def fit(cls, graphs: Pack, inputs: Inputs, *, edges: bool = True, seed: int = 0, salt: int = 0) -> tuple[Self, Int]:
        """The domain of training graphs, and which of them it compares with.

        Args:
            graphs: those that the model was fitted to.
            inputs: how they were read.
            edges: whether the model reads bonds: predictions do not compute their features otherwise.
            seed: of the draw.
            salt: of the hashes.

        Raises:
            CCNError: parts are too large to be compared.
        """
        rng, every = np.random.default_rng(seed), np.arange(len(graphs))
        some = every if len(every) <= _MOST_KNOWN else np.sort(rng.choice(every, _MOST_KNOWN, replace=False))
        rows = some if len(some) <= MOST_ROWS else np.sort(rng.choice(some, MOST_ROWS, replace=False))
        looked = graphs if len(some) == len(every) else graphs.select(some)
        at = inputs.columns_of().get(_MORGAN, slice(0, 0)) if "graph_features" in graphs.arrays else slice(0, 0)
        seen = np.zeros(graphs.width, dtype=bool)
        for start in range(0, len(graphs), _MOST_KNOWN):
            seen[_in_use(graphs[start : start + _MOST_KNOWN])[1]] = True
        names = inputs.vertex_columns
        shape = cls(
            salt=salt & (2**63 - 1),
            parts=Tokens.of(np.zeros(0, np.uint64), 1),
            morgan=None,
            morgan_at=(at.start, at.stop),
            known=np.zeros(0, np.uint32),
            columns=seen,
            names=names if len(names) == len(seen) else (),
            order=2 if np.diff(neighbours(looked).indptr).max(initial=0) <= _DEGREE else 1,
            labels=not _continuous(looked),
            edges=edges and inputs.molecules is not None,
        )
        bags = shape._bags(looked)
        place = np.searchsorted(some, rows)
        made = replace(
            shape,
            parts=Tokens.of(shape._tokens([_rows_of(bag, place) for bag in bags]), len(rows)),
            known=np.unique(shape._hashed(bags[1].key)),
        )
        if at.stop > at.start:
            whole = looked.graph_features[place]
            made = replace(made, morgan=Tokens.of(shape._morgan_tokens(whole), len(rows)))
        return made, rows

    def __len__(self) -> int:
        return len(self.parts)

    # What is compared: the same of training graphs and of new ones.

    def _bags(self, graphs: Pack) -> list[Bag]:
        """For levels 0..2 how often each kind of part occurs in each graph."""
        if not self.edges and {"edge_features", "edge_labels"} & graphs.arrays.keys():  # also those without columns
            graphs = graphs.without_edge_features()
        if not self.labels:
            graphs = graphs.with_features(np.ones((int(graphs.sizes.sum()), 1), np.float32))
        return part_bags(graphs, self.order, _LEVELS)

    def _hashed(self, keys: Names) -> NDArray[np.uint32]:
        return (name(np.uint64(self.salt), keys) >> np.uint64(32)).astype(np.uint32)

    def _tokens(self, bags: Sequence[Bag]) -> NDArray[np.uint64]:
        """The tokens of graphs: one for each occurrence of a kind, numbered by its graph."""
        return numbered([(bag.graph, self._hashed(bag.key)) for bag in map(unary, bags)])

    def _morgan_tokens(self, whole: NDArray[Any]) -> NDArray[np.uint64]:
        counts = whole[:, slice(*self.morgan_at)]
        graph, column = np.nonzero(counts)
        return self._tokens([Bag(graph, column.astype(np.uint64), counts[graph, column], len(counts))])

    def distance(self, graphs: Pack, apart: tuple[Int, Int] | None = None) -> Floats:
        """(graphs,) to the nearest training graph.

        With ``apart``, numbers of the graphs and of the domain's rows, a graph is not compared with the rows of its own
        number, such as those that were held out with it.
        """
        out = np.empty(len(graphs))
        for some, shares in self.parts.compared(self._tokens(self._bags(graphs)), len(graphs)):
            found = shares if apart is None else np.where(apart[0][some, None] == apart[1], 0.0, shares)
            out[some] = 1.0 - found.max(axis=1)
        return out

    def assess(self, graphs: Pack, k: int = 1) -> Assessment:
        """How far graphs are, in a word, their ``k`` nearest training graphs, and what training never had.

        ``graphs`` are as :meth:`ccn.learning.inputs.Inputs.read` gives them. The vertices may be numbered in any order.
        """
        k, bags = max(1, min(k, len(self))), self._bags(graphs)
        nearest, similarity = np.empty((len(graphs), k), dtype=np.int64), np.empty((len(graphs), k))
        for some, shares in self.parts.compared(self._tokens(bags), len(graphs)):
            nearest[some] = _largest(shares, k)
            similarity[some] = np.take_along_axis(shares, nearest[some], axis=1)
        morgan = best = None
        if self.morgan is not None:
            morgan, best = np.empty_like(similarity), np.empty(len(graphs))
            for some, shares in self.morgan.compared(self._morgan_tokens(graphs.graph_features), len(graphs)):
                morgan[some], best[some] = np.take_along_axis(shares, nearest[some], axis=1), shares.max(axis=1)
        distance = 1.0 - similarity[:, 0]
        foreign, unseen = self._unseen(graphs, bags[1])
        return Assessment(distance, self.words(distance, foreign), nearest, similarity, morgan, best, unseen)

    def words(self, distance: Floats, foreign: NDArray[np.bool_] | None = None) -> NDArray[np.str_]:
        """The words of distances; a graph with ``foreign`` vertices, unlike any of training, is not inside."""
        step = (distance > self.inside).astype(np.int64) + (distance > self.outside)
        return np.array(WORDS)[step if foreign is None else np.maximum(step, foreign)]

    def _unseen(self, graphs: Pack, level: Bag) -> tuple[NDArray[np.bool_], tuple[str, ...]]:
        """Which graphs have a column of vertex features that training never had, and what else is new, in words."""
        words: list[list[str]] = [[] for _ in range(len(graphs))]
        graph, column = _in_use(graphs)
        new = (column >= len(self.columns)) | ~self.columns[np.minimum(column, len(self.columns) - 1)]
        for g, c in zip(graph[new].tolist(), column[new].tolist(), strict=True):
            called = self.names[c] if c < len(self.names) else f"vertex feature {c}"
            words[g].append(called.replace("=", " "))
        foreign = np.isin(np.arange(len(graphs)), graph[new])
        strange = ~np.isin(self._hashed(level.key), self.known)
        parts = np.bincount(level.graph[strange], level.count[strange], minlength=len(graphs)).astype(np.int64)
        for g in np.flatnonzero(parts).tolist():
            words[g].append(f"{parts[g]} of {graphs.sizes[g]} parts")
        return foreign, tuple(map("; ".join, words))

    def with_words(self, inside: float, outside: float) -> Domain:
        """The same with other thresholds."""
        return replace(self, inside=float(inside), outside=float(outside))

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Tensors and plain data for a file."""
        tensors = {f"parts/{key}": t for key, t in self.parts.state().items()}
        if self.morgan is not None:
            tensors |= {f"morgan/{key}": t for key, t in self.morgan.state().items()}
        tensors["known"] = torch.from_numpy(self.known.view(np.int32).copy())
        tensors["columns"] = torch.from_numpy(self.columns.astype(np.uint8))
        plain = {key: getattr(self, key) for key in ("salt", "order", "labels", "edges", "inside", "outside")}
        return tensors, {**plain, "morgan_at": list(self.morgan_at), "names": list(self.names)}

    @classmethod
    def from_state(cls, tensors: Mapping[str, Tensor], data: Mapping[str, Any]) -> Self:
        """What :meth:`state` gave; a ValueError if it is nothing of the kind."""
        parts, (start, stop) = Tokens.from_state(under("parts/", tensors)), map(int, data["morgan_at"])
        morgan = Tokens.from_state(under("morgan/", tensors)) if stop > start else None
        known, columns = tensors["known"], tensors["columns"]
        if known.ndim != 1 or known.dtype != torch.int32 or columns.ndim != 1 or columns.dtype != torch.uint8:
            raise ValueError("kinds of parts must be integers in a row")
        made = cls(
            salt=int(data["salt"]),
            parts=parts,
            morgan=morgan,
            morgan_at=(start, stop),
            known=known.numpy().view(np.uint32),
            columns=columns.numpy() > 0,
            names=tuple(data["names"]),
            order=int(data["order"]),
            labels=bool(data["labels"]),
            edges=bool(data["edges"]),
            inside=float(data["inside"]),
            outside=float(data["outside"]),
        )
        fits = (
            (made.known[1:] > made.known[:-1]).all()
            and (morgan is None or len(morgan) == len(parts))
            and (start >= 0 and 0 <= made.salt < 2**63 and made.order in (1, 2))
            and 0 <= made.inside <= made.outside <= 1
            and all(isinstance(text, str) for text in made.names)
            and (len(columns) and len(made.names) in (0, len(columns)))
        )
        if not fits:
            raise ValueError("what the model has learned from does not fit together")
        return made


def _largest(shares: NDArray[np.float32], k: int) -> Int:
    """(graphs, k) the rows of the largest shares in order; of equal ones the first rows."""
    if k == 1:
        return np.asarray(shares.argmax(axis=1)[:, None])
    out = np.empty((len(shares), k), dtype=np.int64)
    for g, (row, least) in enumerate(zip(shares, np.partition(shares, -k, axis=1)[:, -k], strict=True)):
        near = np.flatnonzero(row >= least)
        out[g] = near[np.argsort(-row[near], kind="stable")[:k]]
    return out


def _rows_of(bag: Bag, rows: Int) -> Bag:
    """The bag of some graphs, in order."""
    place = np.full(bag.graphs, -1)
    place[rows] = np.arange(len(rows))
    kept = place[bag.graph] >= 0
    return Bag(place[bag.graph[kept]], bag.key[kept], bag.count[kept], len(rows))


def _in_use(graphs: Pack) -> tuple[Int, Int]:
    """Pairs of a graph and a column of vertex features that is not zero at one of its vertices."""
    a, graph = graphs.compact().arrays, graph_of(graphs)
    shift, pairs = 0, [np.zeros(0, np.int64)]
    if "labels" in a:
        labels = a["labels"].reshape(len(graph), -1).astype(np.int64)
        shift = int(a["labels_width"][0])
        vertex, place = np.nonzero(labels >= 0)
        pairs.append(np.unique(graph[vertex] * graphs.width + labels[vertex, place]))
    if "features" in a:
        vertex, column = np.nonzero(a["features"])
        pairs.append(np.unique(graph[vertex] * graphs.width + column + shift))
    return np.divmod(np.concatenate(pairs), graphs.width)


def _continuous(graphs: Pack) -> bool:
    """Whether most vertices have features that no other has: numbers, by which kinds of parts would never agree."""
    count = np.unique(vertex_names(graphs), return_counts=True)[1]
    return bool((count == 1).sum() > 0.5 * count.sum()) and len(graphs) > 1


def fit_domain(graphs: Pack, inputs: Inputs, **how: Any) -> tuple[Domain, Int] | None:
    """The same as :meth:`Domain.fit`; None for graphs whose parts cannot be compared."""
    try:
        return Domain.fit(graphs, inputs, **how)
    except (CCNError, MemoryError):
        return None

"""The interface of graph kernels: a frozen dataclass of settings that computes Gram matrices of packs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ccn.graphs.pack import Pack
from ccn.methods.kernels.bags import Bag, matrices

__all__ = ["BagKernel", "Floats", "Kernel"]

Floats = NDArray[np.float64]
Seen = TypeVar("Seen")


@dataclass(frozen=True)
class Kernel(ABC, Generic[Seen]):
    """A positive semidefinite function of two graphs that does not depend on how their vertices are numbered.

    Vertices are compared by their features, which must therefore be discrete; directed edges count both ways and
    weights are ignored. A kernel first extracts from each pack what it sees of it, then compares that.

    ``version`` changes whenever the kernel of the same settings does, so that matrices and machines of an earlier
    version are not used.
    """

    version: ClassVar[int] = 1

    def fit(self, graphs: Pack) -> Self:
        """The kernel fitted to graphs; most learn nothing."""
        return self

    @abstractmethod
    def see(self, graphs: Pack) -> Seen:
        """What the kernel sees of the graphs."""

    @abstractmethod
    def compare(self, a: Seen, b: Seen) -> Floats:
        """(graphs of a, graphs of b) the kernel, not normalised."""

    @abstractmethod
    def squares(self, a: Seen) -> Floats:
        """(graphs,) the kernel of each graph with itself."""

    def gram(self, a: Any, b: Any = None, *, normalise: bool = True) -> Floats:
        """(graphs of a, graphs of b) the Gram matrix, that of a with itself by default.

        Normalised it is ``k(g, h) / sqrt(k(g, g) k(h, h))``, and zero where ``k(g, g)`` is zero.
        """
        first = self.see(Pack.of(a))
        return self.between(first, first if b is None else self.see(Pack.of(b)), normalise=normalise)

    def between(self, first: Seen, second: Seen, *, normalise: bool = True) -> Floats:
        """The same from what :meth:`see` returned."""
        found = self.compare(first, second)
        if not normalise:
            return found
        for axis, seen in enumerate((first, second)):
            square = self.squares(seen)
            found /= np.expand_dims(np.sqrt(np.where(square > 0, square, np.inf)), 1 - axis)
        return found

    def settings(self) -> dict[str, Any]:
        """The settings as plain values."""
        return asdict(self)

    def state(self) -> dict[str, NDArray[Any]]:
        """What :meth:`fit` has learned, as arrays."""
        return {}

    def with_state(self, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The kernel with what :meth:`state` returned."""
        return self


class BagKernel(Kernel[Bag]):
    """A kernel that is the inner product of bags: ``k(g, h) = sum over names of count_g * count_h``."""

    def compare(self, a: Bag, b: Bag) -> Floats:
        left, right = matrices(a, b)
        return np.asarray((left @ right.T).toarray())

    def squares(self, a: Bag) -> Floats:
        return np.bincount(a.graph, a.count**2, minlength=a.graphs).astype(np.float64)

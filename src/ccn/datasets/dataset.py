"""A data set in memory: graphs, targets and what the targets mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ccn.graph import Graph

__all__ = ["Dataset"]


@dataclass(frozen=True, repr=False)
class Dataset:
    """Graphs with targets.

    Attributes:
        targets: (graphs, targets); NaN where missing. A class is its number in ``classes``.

    """

    name: str
    graphs: Sequence[Graph]
    targets: NDArray[np.float64]
    target_names: tuple[str, ...]
    task: Literal["classification", "regression"]
    classes: tuple[Any, ...] = ()

    def __len__(self) -> int:
        return len(self.graphs)

    def __getitem__(self, i: int) -> tuple[Graph, NDArray[np.float64]]:
        return self.graphs[i], self.targets[i]

    def subset(self, indices: ArrayLike) -> Dataset:
        """The data set with the chosen graphs only, in that order."""
        chosen = np.asarray(indices)
        return replace(self, graphs=[self.graphs[i] for i in chosen], targets=self.targets[chosen])

    def __repr__(self) -> str:
        vertices = np.mean([g.n for g in self.graphs]) if len(self) else 0.0
        edges = np.mean([g.entries.shape[1] / 2 for g in self.graphs]) if len(self) else 0.0
        if self.task == "classification":
            count = np.bincount(self.targets[:, 0].astype(int), minlength=len(self.classes))
            what = "classes " + ", ".join(f"{c}: {k}" for c, k in zip(self.classes, count, strict=True))
        else:
            what = f"targets {', '.join(self.target_names)}"
        return f"{self.name}: {len(self)} graphs, {vertices:.2f} vertices and {edges:.2f} edges on average, {what}"

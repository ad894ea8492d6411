"""The activation of a level: one P-tensor per node, packed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ccn.algebra.partitions import bell
from ccn.engine.aggregate import invariants, over_graphs
from ccn.errors import ConfigurationError
from ccn.schemes.packed import Nodes

__all__ = ["Activation"]


@dataclass(frozen=True)
class Activation:
    """P-tensors of one order and number of channels, one per node of a level.

    ``data`` has shape (sum over nodes of m^order, channels): nodes in order of part size, each tensor
    with its last axis slowest. :meth:`node` gives one of them as a plain array. ``totals`` are the invariants summed
    over each graph, where they were computed in the same pass.
    """

    data: Tensor
    nodes: Nodes
    order: int
    totals: Tensor | None = None

    @property
    def channels(self) -> int:
        return int(self.data.shape[1])

    def __len__(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        return f"Activation(nodes={len(self)}, order={self.order}, channels={self.channels})"

    def _storage(self, v: int) -> int:
        if not 0 <= v < len(self):
            raise ConfigurationError(f"node {v} does not exist at this level; its nodes are 0..{len(self) - 1}")
        return int(self.nodes.storage[v])

    def node(self, v: int) -> Tensor:
        """The tensor of node v of this level, numbered through the batch: shape (m, .., m, channels)."""
        s = self._storage(v)
        start = self.nodes.row_start(self.order)
        rows = self.data[int(start[s]) : int(start[s + 1])]
        m = int(self.nodes.size[s])
        return rows.view(*[m] * self.order, self.channels).permute(*reversed(range(self.order)), self.order)

    def part(self, v: int) -> list[int]:
        """The ordered atoms of node v, in batch numbers."""
        s = self._storage(v)
        return [int(a) for a in self.nodes.parts[self.nodes.start[s] : self.nodes.start[s + 1]]]

    @cached_property
    def invariants(self) -> Tensor:
        """(nodes, Bell(order) * channels) in storage order: one scalar per set partition of the axes."""
        return invariants(self.data, self.nodes, self.order)

    def per_graph(self, graphs: int) -> Tensor:
        """The invariants summed over the nodes of each graph."""
        if self.totals is not None:
            return self.totals
        if len(self.data) == len(self.nodes):  # one entry each, which is every invariant of its tensor
            return over_graphs(self.data, self.nodes, graphs).repeat(1, bell(self.order))
        return over_graphs(self.invariants, self.nodes, graphs)

    def per_atom(self, atoms: int) -> Tensor:
        """The invariants of the nodes anchored at each atom, added up; zero where there is none."""
        anchored = self.nodes.anchor >= 0
        chosen = self.invariants[torch.from_numpy(anchored).to(self.data.device)]
        index = torch.from_numpy(self.nodes.anchor[anchored]).to(self.data.device)
        return chosen.new_zeros(atoms, chosen.shape[1]).index_add(0, index, chosen)

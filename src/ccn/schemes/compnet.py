"""Compositional networks with any aggregation function Φ (Definitions 2 to 5 of the paper).

A comp-net is a composition scheme in which every node has an activation: a leaf its atom's label, any other node

    f_i = Φ(f_c1, .., f_ck)

of the activations of its children, and the root's represents the object. Activations may be of any kind. This is the
definition itself, node by node; :class:`ccn.CCN` is the covariant case in which Φ are the paper's six steps.

Φ also sees the node, and by it how the subparts are related, which the paper allows and then leaves aside. If neither
the order of its arguments nor the numbers of atoms matter to Φ, and the scheme is permutation invariant, then the
representation is invariant (Proposition 1); with the scheme of neighbourhoods this is message passing (Proposition 2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ccn.errors import SchemeError
from ccn.schemes.scheme import Scheme

__all__ = ["CompNet", "Node", "Phi"]


@dataclass(frozen=True)
class Node:
    """A node that is not a leaf, as Φ sees it.

    Attributes:
        level: its height.
        part: its ordered atoms.
        anchor: the atom that stands for it, or None; that of the root is None.
        children: the parts of its children, in the order of Φ's arguments.
        anchors: those of its children.

    Example:
        >>> node = Node(level=1, part=(0, 1), anchor=0, children=((0,), (1,)), anchors=(0, 1))
        >>> len(node.children)
        2
    """

    level: int
    part: tuple[int, ...]
    anchor: int | None
    children: tuple[tuple[int, ...], ...]
    anchors: tuple[int | None, ...]


Phi = Callable[[Sequence[Any], Node], Any]
"""Φ: from the activations of the children, and the node, to its activation."""


@dataclass(frozen=True)
class CompNet:
    """A comp-net of an aggregation function.

    Args:
        phi: Φ.
        of_label: the activation of a leaf from the label of its atom; by default the label itself.

    Example (the classes of the Weisfeiler-Lehman test, as nested tuples):
        >>> from ccn import Graph
        >>> from ccn.schemes import Neighbourhoods
        >>> wl = CompNet(lambda f, node: tuple(sorted(f)))
        >>> path = Graph([(0, 1), (1, 2)], n=3)
        >>> wl(Neighbourhoods(levels=1)(path), "abb")
        (('a', 'b'), ('a', 'b', 'b'), ('b', 'b'))
    """

    phi: Phi
    of_label: Callable[[Any], Any] = lambda label: label

    def activations(self, scheme: Scheme, labels: Sequence[Any]) -> list[Any]:
        """The activations of all nodes of a scheme over atoms with these labels."""
        if len(labels) != scheme.atoms:
            raise SchemeError(f"the scheme has {scheme.atoms} atoms, but there are labels of {len(labels)}")
        f: list[Any] = [None] * len(scheme.parts)
        for i in scheme.order:
            children = scheme.children[i]
            if not children:
                f[i] = self.of_label(labels[scheme.parts[i][0]])
                continue
            node = Node(
                scheme.heights[i],
                scheme.parts[i],
                scheme.anchors[i],
                tuple(scheme.parts[c] for c in children),
                tuple(scheme.anchors[c] for c in children),
            )
            f[i] = self.phi([f[c] for c in children], node)
        return f

    def __call__(self, scheme: Scheme, labels: Sequence[Any]) -> Any:
        """The representation of the object: the activation of the root."""
        return self.activations(scheme, labels)[scheme.root]

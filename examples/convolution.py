"""A convolutional network as a comp-net: the atoms are pixels, the parts are windows, Φ reads where each child lies.

    python examples/convolution.py

The comp-net gives what torch's convolution gives. If the image is moved, the activations move with it. If it is turned
by a right angle, a window moves and is turned inside too, so that activations do not only move: with filters in four
orientations they are exchanged by a fixed permutation R of the channels, f'(turned place) = R f(place). This is
steerability, the analogy from which the paper starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ccn import Scheme
from ccn.schemes import CompNet, Node

SIZE, WINDOW = 8, 3


def windows(size: int, layers: int) -> Scheme:
    """The scheme of a network with ``layers`` of windows on an image; the anchor of a node is its middle pixel."""
    parts: list[Any] = [[i] for i in range(size * size)]
    children: list[Any] = [[] for _ in parts]
    anchors: list[Any] = list(range(size * size))
    below = {(r, c): r * size + c for r in range(size) for c in range(size)}
    for layer in range(1, layers + 1):
        above = {}
        for r, c in [(r, c) for r in range(layer, size - layer) for c in range(layer, size - layer)]:
            inside = [below[r + dr, c + dc] for dr in (-1, 0, 1) for dc in (-1, 0, 1)]
            above[r, c] = len(parts)
            parts.append(sorted({a for i in inside for a in parts[i]}))
            children.append(inside)
            anchors.append(r * size + c)
        below = above
    return Scheme([*parts, range(size * size)], [*children, list(below.values())], [*anchors, None])


def convolution(weights: Sequence[Any]) -> CompNet:
    """Φ at level l is ``relu(sum over children of W_l[:, :, offset] f)``; at the root it is the sum."""

    def phi(f: Sequence[Any], node: Node) -> Any:
        if node.anchor is None:
            return np.sum(f, axis=0)
        total = 0.0
        for x, anchor in zip(f, node.anchors, strict=True):
            assert anchor is not None
            dr, dc = anchor // SIZE - node.anchor // SIZE, anchor % SIZE - node.anchor % SIZE
            total = total + weights[node.level - 1][:, :, dr + 1, dc + 1] @ x
        return np.maximum(total, 0)

    return CompNet(phi)


def maps(net: CompNet, image: Any, layers: int) -> list[Any]:
    """The activations of each layer as (channels, rows, columns)."""
    channels = image.shape[0]
    f = net.activations(windows(SIZE, layers), list(image.reshape(channels, -1).T))
    out, first = [], SIZE * SIZE
    for layer in range(1, layers + 1):
        side = SIZE - 2 * layer
        out.append(np.stack(f[first : first + side * side], axis=1).reshape(-1, side, side))
        first += side * side
    return out


def turned_filters(rng: np.random.Generator) -> Any:
    """(4, 1, 3, 3) one filter in its four orientations."""
    one = rng.normal(size=(1, WINDOW, WINDOW))
    return np.stack([np.rot90(one, k, axes=(1, 2)) for k in range(4)])


def main() -> dict[str, float]:
    """The largest differences between what the paper says and what is found."""
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=(4, 1, WINDOW, WINDOW)), rng.normal(size=(2, 4, WINDOW, WINDOW))]
    image = np.zeros((1, SIZE, SIZE))
    image[:, 1:6, 1:6] = rng.normal(size=(1, 5, 5))
    net = convolution(weights)
    first, second = maps(net, image, 2)
    x = torch.from_numpy(image)[None]
    for w in weights:
        x = torch.relu(torch.nn.functional.conv2d(x, torch.from_numpy(w)))
    moved = maps(net, np.roll(image, 1, axis=(1, 2)), 2)[0]
    steerable = convolution([turned_filters(rng)])
    (before,), (after,) = (maps(steerable, of, 1) for of in (image, np.rot90(image, axes=(1, 2))))
    return {
        "from torch's convolution": float(np.abs(second - x[0].numpy()).max()),
        "from moved activations": float(np.abs(moved[:, 1:, 1:] - first[:, :-1, :-1]).max()),
        "from turned activations without R": float(np.abs(after - np.rot90(before, axes=(1, 2))).max()),
        "from turned activations with R": float(
            np.abs(after - np.rot90(np.roll(before, 1, axis=0), axes=(1, 2))).max()
        ),
    }


if __name__ == "__main__":
    for what, difference in main().items():
        print(f"largest difference {what}: {difference:.1e}")

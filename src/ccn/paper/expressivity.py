"""Which pairs of graphs each order tells apart, by random networks, and which the Weisfeiler-Lehman tests do.

Two graphs are told apart if one of eight random networks embeds them clearly further from each other than numberings of
one graph, which differ by rounding alone. The networks are :class:`ccn.CCN` with its defaults, the adjacency product
among them, but in float64, with few channels and with the hyperbolic tangent: what they see then depends on order and
levels and hardly on the draw, whereas ReLUs are linear or zero on many of these graphs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ccn.errors import ConfigurationError
from ccn.graphs.graph import Graph
from ccn.models import CCN
from ccn.paper.cells import RANDOM_NETWORKS, WL_TESTS
from ccn.paper.pairs import pairs
from ccn.paper.refinement import wl_1, wl_3
from ccn.testing import random_permutation

__all__ = ["CHANNELS", "NUMBERINGS", "SEEDS", "apart", "run", "settings"]

SEEDS = 8
CHANNELS = 4
NUMBERINGS = 3
_ROWS = 500_000
# Relative to the norm of an embedding rounding is about 1e-15, and graphs that differ do so by 1e-7 or more.
_FLOOR, _FACTOR = 1e-10, 1e3
_COLOURS = dict(zip(WL_TESTS, (wl_1, wl_3), strict=True))


def run(dataset: str, method: str, seed: int = 0) -> tuple[int, int]:
    """How many of the pairs the method tells apart, and how many there are."""
    if method not in (*WL_TESTS, *RANDOM_NETWORKS):
        raise ConfigurationError(f"method={method!r}: choose one of {', '.join((*WL_TESTS, *RANDOM_NETWORKS))}")
    graphs, chosen = pairs(dataset)
    if method in _COLOURS:
        colours = [_COLOURS[method](g) for g in graphs]
        return sum(not np.array_equal(colours[i], colours[j]) for i, j in chosen), len(chosen)
    return len(apart(graphs, chosen, *RANDOM_NETWORKS[method], seed=seed)), len(chosen)


def settings(method: str) -> dict[str, Any]:
    """The settings of a network, as plain data; a Weisfeiler-Lehman test has none."""
    if method in _COLOURS:
        return {}
    order, levels = RANDOM_NETWORKS[method]
    net = {"order": order, "levels": levels, "channels": CHANNELS, "nonlinearity": "tanh", "precision": "float64"}
    return {**net, "seeds": SEEDS, "numberings": NUMBERINGS, "factor": _FACTOR, "floor": _FLOOR}


def apart(
    graphs: Sequence[Graph], pairs: Sequence[tuple[int, int]], order: int, levels: int, seed: int = 0
) -> set[tuple[int, int]]:
    """The pairs, by indices of graphs, that networks of this order and number of levels tell apart.

    With x and y the embeddings of the two graphs in the given numbering, relative to the larger of their norms, the
    pair is told apart if ``|x - y| > max(1e-10, 1000 r)``, where r is the largest distance of x or y from the embedding
    of the same graph in one of two random numberings. A pair that one network tells apart is not shown to the next.
    """
    rng = np.random.default_rng(seed)
    found: set[tuple[int, int]] = set()
    for number in range(SEEDS):
        left = [pair for pair in pairs if pair not in found]
        if not left:
            break
        net = _network(graphs[0].features.shape[1], order, levels, SEEDS * seed + number)
        seen = sorted({i for pair in left for i in pair})
        rows = dict(zip(seen, _embed(net, [graphs[i] for i in seen], order, rng), strict=True))
        found |= {(i, j) for i, j in left if _differ(rows[i], rows[j])}
    return found


def _network(width: int, order: int, levels: int, seed: int) -> CCN:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return CCN(width, order=order, levels=levels, channels=CHANNELS, nonlinearity="tanh").double().eval()


def _embed(net: CCN, graphs: Sequence[Graph], order: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """(graphs, numberings, width) the embeddings, the given numbering first."""
    each = [[g, *(g.permute(random_permutation(g.n, rng)) for _ in range(NUMBERINGS - 1))] for g in graphs]
    flat = [g for numberings in each for g in numberings]
    # A graph has at most n nodes of n^order entries a level; batches of this many entries stay small in memory.
    batch_of = np.cumsum([g.n ** (order + 1) for g in flat]) // _ROWS
    with torch.no_grad():
        rows = [net.embed([flat[i] for i in part]) for _, part in groupby(range(len(flat)), batch_of.__getitem__)]
    out: NDArray[np.float64] = torch.cat(rows).numpy().reshape(len(graphs), NUMBERINGS, -1)
    return out


def _differ(x: NDArray[np.float64], y: NDArray[np.float64]) -> bool:
    rounding = max(float(np.linalg.norm(z[1:] - z[0], axis=1).max()) for z in (x, y))
    size = max(float(np.linalg.norm(z[0])) for z in (x, y))
    return float(np.linalg.norm(x[0] - y[0])) > max(_FACTOR * rounding, _FLOOR * size)

"""Our kernels beside GraKeL's: seconds for one Gram matrix of a data set, and how far the two differ.

Run with ``python -m benchmarks.kernels [DATASET]``; needs the extra ``compare``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ccn.baselines.kernels import WL, Graphlet, MultiscaleLaplacian, RandomWalk, ShortestPath, WLOptimalAssignment
from ccn.datasets import load


def timed(make: Callable[[], Any]) -> tuple[Any, float]:
    began = time.perf_counter()
    return make(), time.perf_counter() - began


def pairs() -> dict[str, tuple[Any, Any]]:
    import grakel
    from grakel.kernels import RandomWalkLabeled

    return {
        "WL, depth 5": (WL(5), grakel.WeisfeilerLehman(n_iter=5, normalize=True)),
        "WL-OA, depth 5": (
            WLOptimalAssignment(5),
            grakel.WeisfeilerLehmanOptimalAssignment(n_iter=5, normalize=True),
        ),
        "shortest path": (ShortestPath(), grakel.ShortestPath(normalize=True)),
        "graphlets of 4": (
            Graphlet(4),
            grakel.GraphletSampling(k=4, sampling={"n_samples": 100}, random_state=0, normalize=True),
        ),
        "random walk, 3 steps": (RandomWalk(3), RandomWalkLabeled(p=3, normalize=True)),
        "multiscale Laplacian": (
            MultiscaleLaplacian(),
            grakel.MultiscaleLaplacian(L=2, P=10, n_samples=100, random_state=0, normalize=True),
        ),
    }


def main(name: str = "MUTAG", *only: str) -> None:
    pack = load(name).pack
    given = [
        (
            dict.fromkeys(map(tuple, g.entries.T.tolist()), 1),
            dict(enumerate(g.features.argmax(dim=1).tolist())),
            dict.fromkeys(map(tuple, g.entries.T.tolist()), 1),
        )
        for g in pack
    ]
    print(f"| {name} | ours, s | GraKeL, s | largest difference |\n|---|---|---|---|", flush=True)
    for title, (ours, theirs) in pairs().items():
        if only and not any(title.startswith(o) for o in only):
            continue
        k, mine = timed(lambda ours=ours: ours.gram(pack))  # type: ignore[misc]
        try:
            other, yours = timed(lambda theirs=theirs: theirs.fit_transform(given))  # type: ignore[misc]
            found = (
                f"{yours:.1f} | {np.abs(k - other).max():.2g}"
                if other.shape == k.shape
                else f"{yours:.1f} | shapes differ"
            )
        except Exception as error:  # whatever it raises is the result
            found = f"{type(error).__name__} | "
        print(f"| {title} | {mine:.2f} | {found} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

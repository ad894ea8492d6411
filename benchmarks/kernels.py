"""Our kernels beside GraKeL's: processor seconds for one Gram matrix, their ratio, and the largest difference.

Run with ``python -m benchmarks.kernels [DATASET:GRAPHS ..]``, by default on MUTAG and the first 1,000 graphs of NCI1.
Needs the extra ``compare`` and writes ``results/kernels.md``. GraKeL is stopped after 100 seconds.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ccn.datasets import load
from ccn.methods.kernels import WL, Graphlet, MultiscaleLaplacian, RandomWalk, ShortestPath, WLOptimalAssignment
from ccn.reports.markup import markdown

RESULTS = Path(__file__).parent / "results" / "kernels.md"
LIMIT = 100


def timed(make: Callable[[], Any]) -> tuple[Any, float]:
    began = time.process_time()
    return make(), time.process_time() - began


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


def theirs(kernel: Any, graphs: list[Any], k: Any, ours: float) -> list[str]:
    """GraKeL's cells of a row: seconds or what it raises, the ratio, the largest difference."""

    def give_up(*_: Any) -> None:
        raise TimeoutError

    signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    try:
        other, seconds = timed(lambda: kernel.fit_transform(graphs))
    except Exception as error:
        return [f"over {LIMIT}" if isinstance(error, TimeoutError) else type(error).__name__, "", ""]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return [f"{seconds:.2f}", f"{seconds / ours:.1f}", f"{np.abs(k - other).max():.2g}"]


def table(name: str, count: int | None) -> str:
    """All kernels on the first graphs of a data set, as Markdown."""
    pack = load(name).pack
    pack = pack.select(np.arange(len(pack) if count is None else count))
    edges = [dict.fromkeys(map(tuple, g.entries.T.tolist()), 1) for g in pack]
    labelled = [(e, dict(enumerate(g.features.argmax(dim=1).tolist())), e) for e, g in zip(edges, pack, strict=True)]
    vectors = [(e, dict(enumerate(g.features.tolist()))) for e, g in zip(edges, pack, strict=True)]
    rows = []
    for title, (kernel, other) in pairs().items():
        kernel.gram(pack)  # once before, so that nothing is compiled while the clock runs
        k, ours = timed(lambda kernel=kernel: kernel.gram(pack))  # type: ignore[misc]
        given = vectors if isinstance(kernel, MultiscaleLaplacian) else labelled  # it compares numbers, not labels
        rows.append([title, f"{ours:.3f}", *theirs(other, given, k, ours)])
        print(*rows[-1], flush=True)
    head = [f"{name}, {len(pack):,} graphs", "ours, s", "GraKeL, s", "GraKeL / ours", "largest difference"]
    return markdown(head, rows)


def main(*names: str) -> None:
    chosen = [name.partition(":") for name in names or ("MUTAG", "NCI1:1000")]
    tables = [table(name, int(count) if count else None) for name, _, count in chosen]
    RESULTS.write_text("\n\n".join(tables) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])

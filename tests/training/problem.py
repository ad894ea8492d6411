"""A small problem that the tests of training share, and scripts that run it as processes of their own."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

import ccn
from ccn.training.batches import Batches
from ccn.training.examples import Examples
from ccn.training.loop import train
from ccn.training.machine import Machine
from ccn.training.recipe import Recipe, recipe
from ccn.training.task import Task, make_task


def graphs(count: int, seed: int = 0, width: int = 3) -> ccn.Pack:
    """Random trees with a few more edges, of 2 to 8 vertices."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        n = int(rng.integers(2, 9))
        edges = {(int(rng.integers(0, i)), i) for i in range(1, n)}
        edges |= {tuple(sorted(rng.choice(n, 2, replace=False).tolist())) for _ in range(2) if n > 2}  # type: ignore[misc]
        made.append(ccn.Graph(sorted(edges), torch.from_numpy(rng.standard_normal((n, width))).float()))
    return ccn.Pack.of(made)


def problem(count: int = 30, targets: int = 2, missing: bool = True) -> tuple[Task, Examples]:
    """Regression of sizes and edge counts, some of them missing."""
    pack = graphs(count)
    y = np.stack([pack.sizes, pack.edge_counts], axis=1)[:, :targets].astype(np.float64)
    if missing:
        y[np.random.default_rng(1).random(y.shape) < 0.3] = np.nan
        y[0] = 1.0
    rows = np.arange(count)
    cut = count * 2 // 3
    task = make_task(y[:cut], classification=False, names=[f"t{i}" for i in range(targets)])
    return task, Examples(pack, y, rows[:cut], rows[cut:])


def small(**settings: Any) -> Recipe:
    """A recipe for tests: quick, with dropout and normalisation."""
    chosen = {"channels": 4, "hidden": 8, "epochs": 3, "batch_size": 6, "dropout": 0.2, **settings}
    return recipe("default", **chosen)


def network(task: Task, r: Recipe, dtype: torch.dtype = torch.float32) -> ccn.CCN:
    """The network of the recipe for the graphs above."""
    from ccn.training.network import make_network, network_options

    return make_network(network_options(r.network, graphs(2), task.outputs), seed=3).to(dtype)


def _run(folder: Path, resume: bool) -> None:
    """A run with checkpoints after every batch; writes the final weights beside them."""
    torch.set_num_threads(1)
    task, examples = problem()
    r = small(epochs=8)
    net = network(task, r)
    train(net, task, examples, r, seed=5, folder=folder, resume=resume, every=0.0)
    torch.save(net.state_dict(), folder / "final.pt")


def _gradients(folder: Path) -> None:
    """The gradient of every step of one epoch, as this process sees it; started by torchrun or alone."""
    torch.set_num_threads(1)
    task, examples = problem(count=27)
    r = small(norm="layer", dropout=0.0, epochs=1, batch_size=17, method="sgd", scaled=False, clip=None, patience=2)
    net = network(task, r)
    found: list[list[float]] = []
    old = torch.optim.SGD.step

    def step(self: Any, *args: Any, **options: Any) -> Any:
        found.append([x for p in net.parameters() for x in p.grad.reshape(-1).tolist()])  # type: ignore[union-attr]
        return old(self, *args, **options)

    torch.optim.SGD.step = step  # type: ignore[method-assign]
    machine = Machine(precision="64-true", devices=int(sys.argv[3]), strategy="auto" if sys.argv[3] == "1" else "ddp")
    progress = train(net, task, examples, r, machine=machine)
    rank = torch.distributed.get_rank() if torch.distributed.is_initialized() else 0
    (folder / f"gradients-{sys.argv[3]}-{rank}.json").write_text(json.dumps([found, progress.history]))
    assert len(Batches(examples.graphs, examples.train, 17)) == 2


if __name__ == "__main__":
    {"run": lambda f: _run(f, False), "resume": lambda f: _run(f, True), "gradients": _gradients}[sys.argv[1]](
        Path(sys.argv[2])
    )

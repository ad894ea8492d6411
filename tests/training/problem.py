"""A small problem that the tests of training share, and scripts that run it as processes of their own."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import ccn
from ccn.datasets.splits import Split
from ccn.learning.examples import Examples
from ccn.learning.task import Task, make_task
from ccn.training.execution import Execution, Machine
from ccn.training.loop import train
from ccn.training.recipe import Recipe, recipe


def graphs(count: int, seed: int = 0, width: int = 3) -> ccn.Pack:
    """Random trees with a few more edges, of 2 to 8 vertices."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        n = int(rng.integers(2, 9))
        edges = {(int(rng.integers(0, i)), i) for i in range(1, n)}
        edges |= {tuple(sorted(rng.choice(n, 2, replace=False).tolist())) for _ in range(2) if n > 2}
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
    return task, Examples(pack, y, Split(rows[:cut], rows[cut:], rows[:0]))


def small(**settings: Any) -> Recipe:
    """A recipe for tests: quick, with dropout and normalisation."""
    chosen = {"channels": 4, "hidden": 8, "epochs": 3, "batch_size": 6, "dropout": 0.2, **settings}
    return recipe("default", **chosen).for_task(classification=False)


def network(task: Task, r: Recipe, dtype: torch.dtype = torch.float32) -> ccn.CCN:
    """The network of the recipe for the graphs above."""
    from ccn.methods.covariant import network_options
    from ccn.methods.network import seeded

    net = seeded(ccn.CCN, network_options(r.network, graphs(2), task.outputs), 3).to(dtype)
    assert isinstance(net, ccn.CCN)
    return net


def fork(task: Callable[[], None], **environment: str) -> int:
    """Do something in a process of its own, which has everything imported already; its number."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        os.environ.update(environment)
        torch.set_num_threads(1)
        task()
        code = 0
    except KeyboardInterrupt:
        code = 130
    finally:
        os._exit(code)


def run(folder: Path) -> None:
    """A run with checkpoints after every batch, new or resumed; writes the final weights beside them."""
    # A killed process, unlike a machine without power, loses nothing that it has written: no need to wait for disks.
    os.fsync = lambda fd: None
    task, examples = problem()
    r = small(epochs=20)
    net = network(task, r)
    train(net, task, examples, r, seed=5, execution=Execution(folder=folder, resume=True, every=0.0))
    torch.save(net.state_dict(), folder / "final.pt")


def kills(folder: Path, run: Callable[[Path], None] = run, count: int = 5) -> None:
    """One run left alone and one killed at random moments, each time after it has come on a little."""
    alone, broken = folder / "alone", folder / "broken"
    assert os.waitpid(fork(lambda: run(alone)), 0)[1] == 0
    for done in range(count):

        def doomed(interrupt: bool = done == 2) -> None:
            left, replace = random.randint(1, 5), os.replace

            def counted(source: Any, path: Any) -> None:
                nonlocal left
                replace(source, path)
                left -= Path(path).name.startswith("checkpoint-")
                if left == 0:
                    # The kernel's own alarm ends the process where it stands, however busy the machine is.
                    signal.setitimer(signal.ITIMER_REAL, 1e-6 + 0.005 * random.random())

            if interrupt:
                signal.signal(signal.SIGALRM, signal.default_int_handler)
            os.replace = counted  # type: ignore[assignment]
            run(broken)

        status = os.waitpid(fork(doomed), 0)[1]
        assert status != 0, "the run came to its end before it was killed"
    assert os.waitpid(fork(lambda: run(broken)), 0)[1] == 0


def gradients(folder: Path, devices: int, norm: str) -> None:
    """The gradient of every step of one epoch and its figures, as this process sees them."""
    task, examples = problem(count=27)
    r = small(
        norm=norm,
        head_norm=norm,
        dropout=0.0,
        head_dropout=0.0,
        epochs=1,
        batch_size=17,
        method="sgd",
        scaled=False,
        clip=None,
        patience=2,
    )
    net = network(task, r)
    found: list[list[float]] = []
    step = torch.optim.SGD.step

    def watched(self: Any, *args: Any, **options: Any) -> Any:
        found.append([x for p in net.parameters() for x in p.grad.reshape(-1).tolist()])  # type: ignore[union-attr]
        return step(self, *args, **options)

    torch.optim.SGD.step = watched  # type: ignore[method-assign]
    machine = Machine(precision="64-true", devices=devices, strategy="ddp" if devices > 1 else "auto")
    progress = train(net, task, examples, r, execution=Execution(machine))
    rank = os.environ.get("RANK", "0")
    (folder / f"gradients-{norm}-{devices}-{rank}.json").write_text(json.dumps([found, progress.history]))


def processes(folder: Path, norm: str) -> None:
    """The same alone and as two processes that torchrun would start."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = str(free.getsockname()[1])
    common = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "GROUP_RANK": "0", "TORCHELASTIC_RUN_ID": "test"}
    place = {"MASTER_ADDR": "localhost", "MASTER_PORT": port}
    children = [
        fork(lambda: gradients(folder, 1, norm)),
        *(fork(lambda: gradients(folder, 2, norm), RANK=r, LOCAL_RANK=r, **common, **place) for r in ("0", "1")),
    ]
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]


if __name__ == "__main__":
    import lightning_fabric  # noqa: F401
    import sklearn.metrics  # noqa: F401

    if sys.argv[1] == "kills":
        kills(Path(sys.argv[2]))
    for norm in sys.argv[3:]:
        processes(Path(sys.argv[2]), norm)

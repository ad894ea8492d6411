"""The demonstration behind ``ccn demo``: order 2 against message passing on MUTAG."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from torch import Tensor

from ccn.datasets import Dataset, load
from ccn.errors import ConfigurationError
from ccn.graph import Batch, batch
from ccn.models import CCN

__all__ = ["fit", "run", "stratified_splits"]

Split = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]

# Learning rate and options of each network; rate and normalisation were chosen on the validation parts of other splits.
NETWORKS: dict[str, tuple[float, dict[str, Any]]] = {
    "CCN, order 2, with A": (1e-2, {"order": 2, "channels": 16}),
    "message passing (order 0, own, no A)": (
        3e-3,
        {"order": 0, "channels": 64, "adjacency": False, "own": True, "norm": "batch"},
    ),
}


def stratified_splits(labels: NDArray[Any], count: int, seed: int) -> list[Split]:
    """Random 80/10/10 splits that keep the share of the classes."""
    from sklearn.model_selection import train_test_split

    out = []
    for i in range(count):
        rest, test = train_test_split(np.arange(len(labels)), test_size=0.1, stratify=labels, random_state=seed + i)
        train, validation = train_test_split(rest, test_size=1 / 9, stratify=labels[rest], random_state=seed + i)
        out.append((train, validation, test))
    return out


def _batches(data: Dataset, indices: NDArray[np.int64], size: int) -> list[tuple[Batch, Tensor]]:
    return [
        (batch([data.graphs[i] for i in chosen]), torch.from_numpy(data.targets[chosen]).float())
        for chosen in np.array_split(indices, max(1, round(len(indices) / size)))
    ]


def _evaluate(net: CCN, batches: Sequence[tuple[Batch, Tensor]]) -> tuple[float, float]:
    """Accuracy and mean loss."""
    net.eval()
    with torch.no_grad():
        logits = torch.cat([net(b) for b, _ in batches])
    y = torch.cat([t for _, t in batches])
    loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, y)
    return float(((logits > 0) == (y > 0.5)).float().mean()), float(loss)


def fit(
    data: Dataset,
    split: Split,
    rate: float,
    options: dict[str, Any],
    epochs: int,
    seed: int,
    tick: Callable[[], None],
) -> float:
    """Train one network on one split; the test accuracy of the epoch with the lowest validation loss."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    train, validation, test = split
    # Batches are drawn once, so that their index maps are built once; their order changes every epoch.
    batches = _batches(data, rng.permutation(train), 32)
    held = _batches(data, validation, 64)
    net = CCN(in_features=data.graphs[0].features.shape[1], out_features=1, levels=2, **options)
    optimiser = torch.optim.AdamW(net.parameters(), lr=rate, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=rate, total_steps=epochs * len(batches))
    best, best_state = float("inf"), copy.deepcopy(net.state_dict())
    for _ in range(epochs):
        net.train()
        for i in rng.permutation(len(batches)):
            b, y = batches[i]
            optimiser.zero_grad()
            torch.nn.functional.binary_cross_entropy_with_logits(net(b), y).backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimiser.step()
            schedule.step()
        _, loss = _evaluate(net, held)
        if loss < best:
            best, best_state = loss, copy.deepcopy(net.state_dict())
        tick()
    net.load_state_dict(best_state)
    return _evaluate(net, _batches(data, test, 64))[0]


def run(splits: int, epochs: int, seed: int) -> None:
    """Train, show progress, and print the table."""
    if splits < 1 or epochs < 1:
        raise ConfigurationError("--splits and --epochs must be at least 1")
    console = Console()
    data = load("MUTAG")
    console.print(f"{data}\n")
    labels = data.targets[:, 0]
    parts = stratified_splits(labels, splits, seed)
    began = time.perf_counter()
    results: dict[str, list[float]] = {}
    columns = (TextColumn("{task.description:<38}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        for name, (rate, options) in NETWORKS.items():
            task = progress.add_task(name, total=splits * epochs)
            results[name] = [
                fit(data, split, rate, options, epochs, seed + i, lambda task=task: progress.advance(task))  # type: ignore[misc]
                for i, split in enumerate(parts)
            ]
    majority = [
        float((labels[test] == np.bincount(labels[train].astype(int)).argmax()).mean()) for train, _, test in parts
    ]
    results["majority class"] = majority
    table = Table(title=f"Test accuracy on {splits} stratified splits", title_justify="left")
    table.add_column("method")
    table.add_column("mean", justify="right")
    table.add_column("deviation", justify="right")
    for name, scores in results.items():
        table.add_row(name, f"{100 * np.mean(scores):.1f} %", f"{100 * np.std(scores):.1f}")
    console.print(table)
    console.print(f"trained {2 * splits} networks in {time.perf_counter() - began:.0f} s")

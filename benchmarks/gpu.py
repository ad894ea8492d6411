"""What a training step of the torch form launches, reads and writes, and what a fused kernel for GPUs would.

    python -m benchmarks.gpu

counts on any machine, by PyTorch's dispatcher, and writes the tables of ``docs/gpu.md``. Bytes are those of the
operands and results of every operation that is not a view, each once; operations of products are two for each
multiplication. The fused kernel is the compiled form as it is for CPUs, a graph to a block of threads: it reads F, the
layout and W and writes the activations, and backward it reads F, the mask of the ReLU and the gradient of what was read
out, and writes the gradient of F. What it works in must fit into the memory that a block shares.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import ccn
from benchmarks.measure import write_between
from benchmarks.work import FEATURES, generated
from ccn.engine import using_backend
from ccn.engine.cpu.form import _prepared
from ccn.engine.cpu.layout import work_lengths
from ccn.engine.cpu.program import program
from ccn.reports.markup import markdown

PAGE = Path(__file__).parents[1] / "docs" / "gpu.md"
SHARED = 228 << 10  # bytes that a block of threads may share on a recent GPU
GRAPHS, CHANNELS = 256, 16


class Counted(TorchDispatchMode):
    """The operations that a device would run, the bytes of what they read and write, and the work of products."""

    launches: int = 0
    bytes: int = 0
    flops: int = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        written = {t.data_ptr(): t for t in tree_leaves(out) if isinstance(t, Tensor)}
        read = {t.data_ptr(): t for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor)}
        if not func.is_view and not func._schema.name.startswith(("aten::detach", "aten::new_empty", "aten::alias")):
            self.launches += 1
            self.bytes += sum(t.nbytes for t in (*read.values(), *written.values()))
        if func._schema.name in ("aten::mm", "aten::addmm", "aten::addmm_"):
            a, b = [t for t in args if isinstance(t, Tensor)][-2:]
            self.flops += 2 * len(a) * b.numel()
        return out


class Fused(NamedTuple):
    """Bytes that the fused kernels of all levels move, the memory of the largest graph, and the share that fits."""

    bytes: int
    largest: int
    fit: float


def _net(order: int, contractions: str, dtype: torch.dtype = torch.float32) -> ccn.CCN:
    torch.manual_seed(0)
    return ccn.CCN(FEATURES, 1, order=order, contractions=contractions, channels=CHANNELS).to(dtype)


def layouts(net: ccn.CCN, graphs: list[ccn.Graph]) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Each layer with its level, plan and the compiled form's layout."""
    scheme, matrices = net.structure(ccn.batch(graphs))
    for layer, level in zip(net.layers, scheme.levels, strict=True):
        plan = layer.plan(level)
        yield layer, level, plan, _prepared(plan, level, matrices).layout


def fused(net: ccn.CCN, graphs: list[ccn.Graph]) -> Fused:
    """What the compiled form's kernels would move on a device, all levels, forward and backward."""
    moved = 0
    for layer, level, _, layout in layouts(net, graphs):
        structure = sum(x.nbytes for x in layout if isinstance(x, np.ndarray))
        f = 4 * level.below.rows(layer.order) * layer.in_channels
        out = level.nodes.rows(layer.order_out) * layer.out_channels
        weights = 4 * layer.weight.numel()
        moved += f + structure + weights + 4 * out  # forward
        moved += 2 * f + structure + 2 * weights + 4 * out + out  # backward: F, its gradient, output, mask of a byte
    sizes = np.array([_work(net, g) for g in graphs])
    return Fused(moved, int(sizes.max()), float((sizes <= SHARED).mean()))


def _work(net: ccn.CCN, graph: ccn.Graph) -> int:
    """Bytes that the largest level of one graph works in."""
    return max(
        4 * sum(work_lengths(program(plan), layout, layer.in_channels, layer.out_channels, mixed=False))
        for layer, _, plan, layout in layouts(net, [graph])
    )


def counted(net: ccn.CCN, graphs: list[ccn.Graph]) -> Counted:
    """One training step of the torch form."""
    b = ccn.batch(graphs)
    with using_backend("torch"):
        net(b).sum().backward()  # the maps are built
        found = Counted()  # type: ignore[no-untyped-call]
        with found:
            net(b).sum().backward()
    return found


def rounding(order: int, graphs: list[ccn.Graph], dtype: torch.dtype) -> float:
    """Root mean squared error of the outputs in another dtype, over their deviation in float64."""
    net, b = _net(order, "distinct", torch.float64).eval(), ccn.batch(graphs)
    with using_backend("torch"), torch.no_grad():
        exact = net(b)
        found = net.to(dtype)(b).double()
    return float((found - exact).square().mean().sqrt() / exact.std())


def main() -> None:
    """Count, and write the tables."""
    graphs = generated(GRAPHS)
    rows, precision = [], []
    for order, contractions in ((0, "distinct"), (1, "distinct"), (2, "paper10"), (2, "distinct"), (3, "distinct")):
        net = _net(order, contractions)
        step = counted(net, graphs)
        other = fused(net, graphs)
        rows.append(
            [
                f"{order}, {contractions}",
                f"{step.launches}",
                f"{step.bytes / 1e6:,.0f}",
                f"{step.flops / 1e9:,.2f}",
                f"{step.flops / step.bytes:.1f}",
                f"{other.bytes / 1e6:,.0f}",
                f"{step.bytes / other.bytes:.1f}",
                f"{other.largest / 1024:,.0f}",
                f"{100 * other.fit:.0f} %",
            ]
        )
    for order in (1, 2, 3):
        each = [rounding(order, graphs[:64], dtype) for dtype in (torch.float32, torch.bfloat16)]
        precision.append([str(order), *(f"{x:.1e}" for x in each)])
    head = ["order, contractions", "operations", "MB moved", "GFLOP of products", "FLOP per byte",
            "MB moved, fused", "ratio", "kB of the largest graph", "graphs that fit"]  # fmt: skip
    text = f"{markdown(head, rows)}\n\n{markdown(['order', 'float32', 'bfloat16'], precision)}"
    write_between(PAGE, "gpu", text)
    print(text)


if __name__ == "__main__":
    main()

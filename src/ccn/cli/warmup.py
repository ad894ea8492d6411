"""``ccn warmup``: what is compiled at first use, compiled now."""

from __future__ import annotations

from ccn.cli.options import Json

__all__ = ["warmup"]


def warmup(*, json: Json = False) -> None:
    """Compile the kernels of networks now and keep them, so that no command waits for them.

    For example, `ccn warmup` in the build of a container image, or in CI where the cache folder (CCN_CACHE) is kept.
    They are compiled again where the version of ccn, of llvmlite or the kind of processor is another.
    """
    import time

    import torch

    from ccn.cli.show import print_json, table
    from ccn.engine.cpu.compiling import kernel_folder
    from ccn.graphs.graph import Graph
    from ccn.models import CCN

    began = time.monotonic()
    for dtype in (torch.float32, torch.float64):
        net, graph = CCN(1, 1, channels=2).to(dtype), Graph([(0, 1)], torch.ones(2, 1, dtype=dtype))
        net([graph]).sum().backward()
    seconds, folder = time.monotonic() - began, kernel_folder()
    if json:
        print_json({"seconds": seconds, "folder": folder})
        return
    table("kernels", ["", ""], [["seconds", f"{seconds:.1f}"], ["folder", folder]])

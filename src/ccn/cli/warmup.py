"""``ccn warmup``: what is compiled at first use, compiled now."""

from __future__ import annotations

from ccn.cli.options import Json

__all__ = ["warmup"]


_MOLECULES = ("C", "CC", "CCC", "CCO", "CCN", "C=C", "C#N", "c1ccccc1")  # enough to train on


def warmup(*, json: Json = False) -> None:
    """Compile the kernels of the default network now and keep them, so that no command waits for them.

    For example, `ccn warmup` in the build of a container image, or in CI where the cache folder (CCN_CACHE) is kept.
    They are compiled again where the version of ccn, of llvmlite or the kind of processor is another. Networks of other
    orders, contractions or channels have kernels of their own, which are compiled at their first use.
    """
    import time

    import torch

    from ccn.cli.show import print_json, table
    from ccn.engine.cpu.compiling import kernel_folder
    from ccn.estimators import CCNRegressor
    from ccn.graphs.graph import Graph
    from ccn.models import CCN

    began = time.monotonic()
    net = CCN(1, 1)
    net([Graph([(0, 1)], torch.ones(2, 1))]).sum().backward()
    CCNRegressor(method="ccn", epochs=1).fit(list(_MOLECULES), [float(i) for i in range(len(_MOLECULES))])
    seconds, folder = time.monotonic() - began, kernel_folder()
    if json:
        print_json({"seconds": seconds, "folder": folder})
        return
    table("kernels", ["", ""], [["seconds", f"{seconds:.1f}"], ["folder", folder]])

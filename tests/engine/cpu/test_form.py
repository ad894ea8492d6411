"""The compiled form: what only it does. Its results are compared with the oracle in test_aggregate.py."""

import numpy as np
import pytest
import torch

import ccn
from ccn.engine.cpu import form, layout, workspace
from ccn.engine.cpu.program import program
from ccn.engine.matrices import Matrices
from ccn.errors import ConfigurationError
from ccn.testing import random_graph


def test_a_clique_is_computed_once_and_in_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 20
    graph = ccn.Graph([(a, b) for a in range(n) for b in range(a)], n=n)
    net = ccn.CCN(1, order=2, channels=4)
    lengths = []
    for chunk in (n**3, n**2):
        monkeypatch.setattr(layout, "CHUNK_ROWS", chunk)
        batch = ccn.batch([graph])
        level = net._composition(batch).levels[1]
        plan = net.layers[1].plan(level)
        made = form._prepared(plan, level, Matrices(batch, net.adjacency_channels, torch.float32)).layout
        assert made.group_nodes.tolist() == [0, n]
        lengths.append(sum(layout.work_lengths(program(plan), made, 4, 4, mixed=False)))
    assert lengths[1] < 0.2 * lengths[0]


def test_the_nodes_of_a_large_graph_share_working_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those whose children lie in one chunk do; all of them did not, as soon as there was a second chunk."""
    graph = ccn.Graph([(i, i + 1) for i in range(199)], n=200)
    net = ccn.CCN(1, order=2, channels=4)
    targets = []
    for chunk in (1 << 18, 200):
        monkeypatch.setattr(layout, "CHUNK_ROWS", chunk)
        batch = ccn.batch([graph])
        level = net._composition(batch).levels[1]
        plan = net.layers[1].plan(level)
        made = form._prepared(plan, level, Matrices(batch, net.adjacency_channels, torch.float32)).layout
        targets.append(layout.work_lengths(program(plan), made, 4, 4, mixed=False)[2])
    assert len(made.chunk_below) > 5
    assert targets[1] < 0.2 * 200 * targets[0]


def test_working_memory_that_is_not_there_is_said_before_it_is_allocated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "available_bytes", lambda device: 3_000_000_000)
    monkeypatch.setattr(torch, "empty", lambda *shape, **kind: pytest.fail("allocated"))
    with pytest.raises(ConfigurationError, match=r"4\.0 GB .* 3\.0 GB"):
        workspace.workspace(1, 1_000_000_000, torch.float32)


def test_threads_share_a_batch() -> None:
    rng = np.random.default_rng(6)
    graphs = [random_graph(int(n), rng) for n in rng.integers(1, 8, 12)]
    net = ccn.CCN(3, 2, channels=4).double()
    found = []
    before = torch.get_num_threads()
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            out = net(graphs)
            found.append([out, *torch.autograd.grad(out.square().sum(), list(net.parameters()))])
    finally:
        torch.set_num_threads(before)
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)

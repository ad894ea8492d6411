from __future__ import annotations

import pytest
import torch
from labelled import labelled, permuted

from ccn.methods.gin import GIN


def test_numberings_do_not_count() -> None:
    pytest.importorskip("torch_geometric")
    net = GIN(3, 2).double().eval()
    graphs = labelled(10, seed=8)
    torch.testing.assert_close(net(permuted(graphs)), net(graphs))
    assert not torch.allclose(net(graphs[:1]), net(graphs[1:2]))

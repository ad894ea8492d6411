"""Checkpoints: two are kept, the newest intact one is loaded, and that of another run is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ccn.errors import FileError
from ccn.training.checkpoint import Progress, load, save, write_history


def _net() -> tuple[torch.nn.Linear, torch.optim.Optimizer]:
    net = torch.nn.Linear(2, 1)
    return net, torch.optim.AdamW(net.parameters(), lr=0.1)


def test_the_newest_intact_checkpoint_is_loaded(tmp_path: Path) -> None:
    net, optimiser = _net()
    weights = []
    for step in range(1, 4):
        net(torch.ones(1, 2)).sum().backward()
        optimiser.step()
        weights.append({k: v.clone() for k, v in net.state_dict().items()})
        save(tmp_path, Progress(batch=step, step=step, seconds=2.0), net, weights[0], optimiser, "run")
    files = sorted(tmp_path.iterdir())
    assert len(files) == 2
    files[1].write_bytes(files[1].read_bytes()[:-1])
    other, its_optimiser = _net()
    found = load(tmp_path, other, its_optimiser, "run")
    assert found is not None
    progress, best = found
    assert (progress.step, progress.earlier) == (2, 2.0)
    assert all(torch.equal(weights[1][k], v) for k, v in other.state_dict().items())
    assert all(torch.equal(weights[0][k], v) for k, v in best.items())
    assert its_optimiser.state_dict()["state"][0]["step"] == 2
    with pytest.raises(FileError, match="other settings"):
        load(tmp_path, other, its_optimiser, "another")


def test_a_folder_without_checkpoints_has_nothing_to_load(tmp_path: Path) -> None:
    assert load(tmp_path, *_net(), "run") is None


def test_the_history_is_a_table(tmp_path: Path) -> None:
    write_history(tmp_path / "h.csv", [{"epoch": 1, "loss": 0.5}, {"epoch": 2, "loss": 0.25}])
    assert (tmp_path / "h.csv").read_text() == "epoch,loss\n1,0.5\n2,0.25\n"

"""Checkpoints: two are kept, the newest intact one is loaded, and that of another run is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from ccn import sealed
from ccn.errors import FileError
from ccn.training.checkpoint import Progress, files, load, save, write_history


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
    with pytest.raises(FileError):
        load(tmp_path, other, its_optimiser, "another")


def test_older_checkpoints_that_a_killed_run_left_are_removed(tmp_path: Path) -> None:
    net, optimiser = _net()
    for step in range(1, 4):
        (tmp_path / str(step)).mkdir()
        save(tmp_path / str(step), Progress(batch=step, step=step), net, {}, optimiser, "run")
        for path in files(tmp_path / str(step)):
            path.rename(tmp_path / path.name)
    kept = files(tmp_path)[:2]
    assert load(tmp_path, net, optimiser, "run") is not None
    assert files(tmp_path) == kept


Tensors = dict[str, torch.Tensor]
FORGED: dict[str, Callable[[Tensors, dict[str, Any]], Any]] = {
    "no weights": lambda t, d: [t.pop(k) for k in list(t) if k.startswith("net")],
    "another weight": lambda t, d: t.update({"net.x": torch.ones(1)}),
    "shape": lambda t, d: t.update({"net.weight": torch.ones(1, 3)}),
    "best": lambda t, d: t.update({"best.weight": torch.ones(1, 3)}),
    "another part": lambda t, d: t.update({"x.y": torch.ones(1)}),
    "optimiser's shape": lambda t, d: t.update({"optimiser.0.exp_avg": torch.ones(7)}),
    "optimiser's key": lambda t, d: t.pop("optimiser.0.exp_avg"),
    "parameter": lambda t, d: t.update({"optimiser.9.step": torch.tensor(1.0)}),
    "number": lambda t, d: t.update({"optimiser.x.step": torch.tensor(1.0)}),
    "no run": lambda t, d: d.pop("run"),
    "no progress": lambda t, d: d.pop("progress"),
    "field": lambda t, d: d["progress"].update(color="red"),
    "type": lambda t, d: d["progress"].update(epoch="3"),
    "negative": lambda t, d: d["progress"].update(batch=-1),
    "history": lambda t, d: d["progress"].update(history=[["a"]]),
    "row": lambda t, d: d["progress"].update(history=[{"loss": "a"}]),
    "large": lambda t, d: d["progress"].update(history=[{"loss": 10**400}]),
    "steps": lambda t, d: d["progress"].update(step=0),
    "endless": lambda t, d: d["progress"].update(step=10**400),
    "seconds": lambda t, d: d["progress"].update(seconds=10**400),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_checkpoint_that_does_not_fit_is_passed_over(name: str, tmp_path: Path) -> None:
    net, optimiser = _net()
    for step in (1, 2):
        net(torch.ones(1, 2)).sum().backward()
        optimiser.step()
        save(tmp_path, Progress(batch=step, step=step), net, net.state_dict(), optimiser, "run")
    older, newer = sorted(tmp_path.iterdir())
    held = sealed.read(newer, {"ccn checkpoint": 1})
    FORGED[name](held.tensors, held.data)
    sealed.write(newer, "ccn checkpoint", 1, held.tensors, held.data)
    found = load(tmp_path, *_net(), "run")
    assert found is not None
    assert found[0].step == 1
    older.unlink()
    other, its_optimiser = _net()
    before = {k: v.clone() for k, v in other.state_dict().items()}
    assert load(tmp_path, other, its_optimiser, "run") is None
    assert all(torch.equal(before[k], v) for k, v in other.state_dict().items())  # nothing was loaded in part


def test_folders_that_are_named_like_checkpoints_are_left_alone(tmp_path: Path) -> None:
    net, optimiser = _net()
    strange = [tmp_path / f"checkpoint-000000-0000000{i}.safetensors" for i in (0, 2, 3, 9)]
    for path in strange:
        path.mkdir()
    for step in (1, 2, 3):
        save(tmp_path, Progress(batch=step, step=step), net, {}, optimiser, "run")
    found = load(tmp_path, net, optimiser, "run")
    assert found is not None
    assert found[0].step == 3
    assert len(files(tmp_path)) == 2
    assert all(path.is_dir() for path in strange)


def test_a_folder_without_checkpoints_has_nothing_to_load(tmp_path: Path) -> None:
    assert load(tmp_path, *_net(), "run") is None


def test_the_history_is_a_table(tmp_path: Path) -> None:
    write_history(tmp_path / "h.csv", [{"epoch": 1, "loss": 0.5}, {"epoch": 2, "loss": 0.25}])
    assert (tmp_path / "h.csv").read_text() == "epoch,loss\n1,0.5\n2,0.25\n"


def test_rows_of_the_history_may_have_different_columns(tmp_path: Path) -> None:
    write_history(tmp_path / "h.csv", [{"epoch": 1}, {"epoch": 2, "loss": 0.25}])
    assert (tmp_path / "h.csv").read_text() == "epoch,loss\n1,\n2,0.25\n"

"""Machines and execution: what is unavailable is named, and global state is restored."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ccn.errors import ConfigurationError
from ccn.training.execution import Execution, Machine, is_first, torch_device, torch_threads


def test_an_unavailable_device_or_precision_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    for name in ("cuda:1", "mps", "nonsense"):
        with pytest.raises(ConfigurationError, match=f"device='{name}': .* cpu"):
            torch_device(name)
    with pytest.raises(ConfigurationError, match="7-true"):
        Machine(precision="7-true").check()
    with pytest.raises(ConfigurationError, match=r"^devices=-1: "):
        Machine(devices=-1).check()
    with pytest.raises(ConfigurationError, match="ddp_spawn"):
        Machine(strategy="ddp_spawn").check()
    assert torch_device("auto") == torch.device("cpu")


def test_threads_are_set_and_restored() -> None:
    before = torch.get_num_threads()
    with torch_threads(before + 1):
        assert torch.get_num_threads() == before + 1
    with torch_threads(None):
        assert torch.get_num_threads() == before
    assert torch.get_num_threads() == before
    for count in (0, 10**30):
        with pytest.raises(ConfigurationError, match=f"threads={count}: "), torch_threads(count):
            pass


@pytest.mark.parametrize(("rank", "first"), [("0", True), ("1", False)])
def test_the_first_process_is_that_of_rank_0(rank: str, first: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", rank)
    assert is_first() == first


def test_a_network_has_a_folder_below_that_of_the_fit(tmp_path: Path) -> None:
    part = Execution(folder=tmp_path, every=5.0).part("member-1", 60.0)
    assert (part.folder, part.time_limit, part.every) == (tmp_path / "member-1", 60.0, 5.0)
    assert Execution().part("member-1", None).folder is None


def test_a_network_has_its_folder_and_its_share_of_the_time() -> None:
    every = Execution(folder=Path("run"), resume=True, time_limit=10.0)
    one = every.part("member1", 2.5)
    assert (one.folder, one.resume, one.time_limit) == (Path("run/member1"), True, 2.5)
    assert Execution().part("member0", None).folder is None

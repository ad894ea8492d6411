"""`ccn warmup`: kernels on disk."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ccn.engine.cpu.compiling import kept_kernels


def test_kernels_are_kept(ccn: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    ccn("warmup", "--json")
    made = json.loads(capsys.readouterr().out)
    assert Path(made["folder"]).is_dir()
    assert made["seconds"] > 0
    assert kept_kernels()
    ccn("warmup")
    assert "seconds" in capsys.readouterr().out

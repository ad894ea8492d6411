from __future__ import annotations

import runpy
from pathlib import Path

import pytest


@pytest.mark.slow
def test_the_best_epoch_is_not_worse_than_the_last() -> None:
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "epoch_picked_on_test.py"))
    ((last, best),) = example["main"](splits=2, epochs=3)
    assert 0.0 <= last <= best <= 1.0

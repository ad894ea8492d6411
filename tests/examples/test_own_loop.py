"""The example runs and learns."""

import runpy
from pathlib import Path

import pytest


@pytest.mark.slow
def test_the_example_beats_the_majority_class() -> None:
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "own_loop.py"))
    assert example["main"](epochs=15) > 125 / 188

"""The example runs and learns."""

import runpy
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_example_beats_the_majority() -> None:
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "vertices_and_edges.py"))
    assert example["communities"](epochs=15) > 0.75
    assert example["ring_bonds"](epochs=15) > 0.5

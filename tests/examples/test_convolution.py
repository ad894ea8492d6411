"""A convolutional network is a comp-net: equal to torch's, moving with the image, and steered by its turns."""

import runpy
from pathlib import Path


def test_the_example_finds_what_the_paper_says() -> None:
    found = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "convolution.py"))["main"]()
    exact = [value for what, value in found.items() if "without" not in what]
    assert max(exact) < 1e-12
    assert found["from turned activations without R"] > 0.1

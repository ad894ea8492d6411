"""What tests of several rooms share."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def peak() -> Callable[[Callable[[], Any]], int]:
    """Calls a function and returns the most bytes that numpy and Python held for it at a time."""

    def measure(function: Callable[[], Any]) -> int:
        tracemalloc.start()
        try:
            function()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    return measure

"""Examples in docstrings run in folders of their own; those that export are slow, and torch warns in them."""

from collections.abc import Sequence
from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Mark examples."""
    for item in items:
        if isinstance(item, pytest.DoctestItem) and item.name.startswith("ccn.export."):
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.filterwarnings("ignore"))


@pytest.fixture(autouse=True)
def _examples_write_elsewhere(request: pytest.FixtureRequest) -> None:
    if isinstance(request.node, pytest.DoctestItem):
        folder: Path = request.getfixturevalue("tmp_path")
        request.getfixturevalue("monkeypatch").chdir(folder)

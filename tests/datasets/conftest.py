"""Nothing here reads or writes the user's own data."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own, and no folder of data."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("CCN_CACHE", str(folder))
    monkeypatch.delenv("CCN_DATA", raising=False)
    return folder

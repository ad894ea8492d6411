"""`ccn report`: a page about a run."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ccn.errors import FileError


def test_a_report_is_made_again_without_the_data(
    ccn: Callable[..., None], run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    before = (copy / "report.html").read_bytes()
    (copy / "report.html").unlink()
    ccn("report", copy)
    assert str(copy / "report.html") in capsys.readouterr().out
    assert (copy / "report.html").read_bytes() == before.replace(b"ccn predict run", b"ccn predict copy").replace(
        b"ccn evaluate run", b"ccn evaluate copy"
    ).replace(b"ccn report run", b"ccn report copy").replace(b"--config run/", b"--config copy/")


@pytest.mark.parametrize("name", ["metrics.json", "data.json", "config.toml", "history.csv"])
def test_a_folder_that_lacks_a_file_is_refused(ccn: Callable[..., None], run: Path, tmp_path: Path, name: str) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    (copy / name).unlink()
    with pytest.raises(FileError, match=name):
        ccn("report", copy)
    (copy / name).write_text("{" if name != "history.csv" else "a,b\n1\n")
    with pytest.raises(FileError, match="copy"):
        ccn("report", copy)

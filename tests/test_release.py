"""The wheel and the sdist: what is in them, and that the wheel works from outside the tree."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

import ccn

ROOT = Path(__file__).parents[1]
EDITOR = "serving/editor/openchemlib.js"  # is built in where make editor has fetched it
NEEDED = (
    EDITOR,
    "py.typed",
    "reports/page.html",
    "datasets/registry.toml",
    "datasets/mutag/MUTAG.zip",
    "paper/paper.toml",
)


def test_the_version_is_one() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert cited["version"] == ccn.__version__
    headings = re.findall(r"^## \[?(\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert headings[0] == ccn.__version__


@pytest.mark.slow
def test_wheel_and_sdist_from_outside_the_tree(tmp_path: Path) -> None:
    pytest.importorskip("build")
    pytest.importorskip("hatchling")
    tree, aside = tmp_path / "tree", (".git", ".venv", "build", "dist", ".*_cache", "__pycache__")
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*aside))
    for made in ("src/ccn/serving/editor/openchemlib.js", "docs/made/page.md", ".venv/pyvenv.cfg"):
        (tree / made).parent.mkdir(parents=True, exist_ok=True)
        (tree / made).write_text("made, not committed")
    quiet = {"check": True, "capture_output": True}
    subprocess.run([sys.executable, "-m", "build", "--no-isolation", "--outdir", tmp_path, tree], **quiet)  # type: ignore[call-overload]
    (wheel,), (sdist,) = tmp_path.glob("*.whl"), tmp_path.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as inside:
        names = set(inside.namelist())
        inside.extractall(tmp_path / "site")
    assert {f"ccn/{name}" for name in NEEDED} <= names
    assert all(name.startswith(("ccn/", f"ccn-{ccn.__version__}.dist-info/")) for name in names)
    with tarfile.open(sdist) as packed:
        members = packed.getnames()
    assert not [name for name in members if "/docs/made/" in name or "/.venv/" in name]
    (tmp_path / "elsewhere").mkdir()
    where = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    words = [sys.executable, str(ROOT / ".ci" / "try_installed.py"), ccn.__version__, str(ROOT / "tests/files/0.1")]
    done = subprocess.run(words, cwd=tmp_path / "elsewhere", env=where, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "works" in done.stdout

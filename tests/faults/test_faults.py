"""Faults at changes on disk: all of a model save, some of a training; all of everything by ``make faults``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from injection import DIED, Point, in_child
from trials import TRIALS, rendered

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="asks Linux for the names of open files")


def test_the_change_with_a_number_fails_or_is_the_last(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()

    def work() -> None:
        (tmp_path / "elsewhere").write_text("not counted")
        for name in "abc":
            try:
                Path(name).write_text("1234")
            except OSError as error:
                print(error.errno, file=sys.stderr)
        os.replace("a", "d")

    whole = in_child(root, work)
    made = [Point(kind, name) for name in "abc" for kind in ("open", "write")]
    assert (whole.code, whole.said, whole.points) == (0, "", [*made, Point("rename", "a")])
    assert [in_child(root, work, "die", n).code for n in (0, 6, 7)] == [DIED, DIED, 0]
    assert in_child(root, work, "fail", 3).said == "5\n"
    assert (root / "b").read_text() == "1234"  # when it was closed
    assert in_child(root, work, "full", 3).said == "28\n28\n"
    assert (root / "b").read_text() == "12"  # half of it was written


@pytest.mark.slow
def test_a_model_save_and_a_training_survive_faults() -> None:
    """In a process of its own, which forks before it computes."""
    words = [sys.executable, str(ROOT / "tests" / "faults"), "--only", "model|training$", "--every", "40"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["broken"] for one in counts] == [0, 0]
    assert counts[0]["faults"] == 3 * counts[0]["points"]


def test_the_page_has_the_counts_of_the_last_whole_run() -> None:
    found = json.loads((ROOT / "results" / "reliability" / "faults.json").read_text())
    names = [one["name"] for one in found]
    assert names == [trial.name for trial in TRIALS if trial.name in names]
    assert all(one["faults"] == 3 * one["points"] for one in found if one.get("every", 1) == 1)
    assert all(one["faults"] >= 3 * (one["points"] // one.get("every", 1)) for one in found)
    assert not any(one["broken"] for one in found)
    assert rendered(found) in (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")

"""chemprop is called as a command, here by a script in its place."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import numpy as np
import pytest

from ccn.errors import TrainingError
from ccn.paper.competitors import COMPETITORS, missing
from ccn.paper.tasks import TASKS

TEST = ["CCO", "CCCCCCCCCCN"]

# A command that answers as chemprop does: it learns the mean, and predicts it with the seed added.
FAKE = """#!{python}
import csv, pathlib, sys
given = dict(zip(sys.argv[2::2], sys.argv[3::2]))
if sys.argv[1] == "train":
    rows = list(csv.DictReader(open(given["--data-path"])))
    if given["--task-type"] == "classification":
        sys.exit("no classes today")
    out = pathlib.Path(given["--output-dir"])
    out.mkdir()
    mean = sum(float(row["y"]) for row in rows) / len(rows) + int(given["--pytorch-seed"])
    (out / "best.pt").write_text(str(mean))
else:
    mean = (pathlib.Path(given["--model-paths"]) / "best.pt").read_text()
    rows = list(csv.DictReader(open(given["--test-path"])))
    lines = ["smiles,y", *(row["smiles"] + "," + mean for row in rows)]
    pathlib.Path(given["--preds-path"]).write_text("\\n".join(lines) + "\\n")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a script is no command there")
def test_chemprop_is_called_as_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = tmp_path / "chemprop"
    monkeypatch.setenv("CCN_CHEMPROP", str(command))
    assert str(command) in missing("chemprop")
    command.write_text(FAKE.format(python=sys.executable))
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    assert missing("chemprop") == ""
    predict = COMPETITORS["chemprop"].predict
    assert predict(["C", "CC"], np.array([1.0, 2.0]), TEST, TASKS["caco2_wang"], 3).tolist() == [4.5, 4.5]
    with pytest.raises(TrainingError, match=r"train .* 1: no classes today"):
        predict(["C", "CC"], np.array([0.0, 1.0]), TEST, TASKS["dili"], 0)
    assert COMPETITORS["chemprop"].versions() == {"chemprop": "unknown"}

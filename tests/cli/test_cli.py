"""The command line as a whole: renamed flags, exit codes, examples in the help."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from ccn.cli import app, main
from ccn.errors import ConfigurationError

VERBS = [
    "train", "predict", "explain", "evaluate", "report", "serve", "tune", "embed", "info", "data list", "data get",
    "data info", "data cliffs", "expressivity", "draw", "contractions", "reproduce", "table", "demo",
    "warmup",
]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "old", "new"),
    [
        ("predict nothing new.csv --threads 2", "--threads", "--processes"),
        ("embed nothing new.csv --threads=2", "--threads", "--processes"),
        ("reproduce nothing --jobs 2", "--jobs", "--processes"),
        ("data info nothing --out folder", "--out", "--output"),
    ],
)
def test_a_renamed_flag_works_with_a_hint(
    words: str, old: str, new: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(shlex.split(words))
    hint, error = capsys.readouterr().err.splitlines()
    assert hint == f"ccn: {old} is now {new}"
    assert "nothing" in error
    assert ended.value.code == 1  # not a usage error: the flag was understood


def test_an_argument_as_long_as_a_protein_is_cut_in_its_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["data", "info", "C" * 20_000])
    error = capsys.readouterr().err
    assert len(error) < 1_000
    assert "MUTAG" in error


def test_threads_of_train_keep_their_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["train", "nowhere.csv", "--threads", "1"])
    assert "is now" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (FileNotFoundError(2, "No such file or directory", "x.csv"), 1, "x.csv: No such file"),
        (MemoryError(), 1, "--batch-size"),
        (ZeroDivisionError("by zero"), 3, "ZeroDivisionError: by zero"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_exit_codes(
    error: BaseException,
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fails(path: object) -> None:
        raise error

    monkeypatch.setattr("ccn.learning.model_file.describe", fails)
    with pytest.raises(SystemExit) as ended:
        main(["info", "x"])
    assert ended.value.code == code
    assert said in capsys.readouterr().err
    assert [r.levelname for r in caplog.records if r.name == "ccn"] == ["ERROR"] * bool(said)


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_help_has_an_example(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    app([*verb.split(), "--help"], result_action="return_value")
    assert f"For example, ccn {verb}" in " ".join(capsys.readouterr().out.split())


def test_the_verbs_above_are_all() -> None:
    names = [name for name in app if not name.startswith("-")]
    below = {name: [n for n in app[name] if not n.startswith("-")] for name in names}
    assert [f"{name} {n}".strip() for name in names for n in below[name] or [""]] == VERBS


@pytest.mark.parametrize(
    "words",
    [
        "predict {run} CCO --processes",
        "embed {run} CCO --output e.csv --processes",
        "evaluate {run} {table} --target size --threads",
        "explain {run} CCO --threads",
        "draw CCO --levels",
        "contractions --order",
        "serve {run} --workers",
        "serve {run} --port",
        "serve {run} --max-rows",
        "serve {run} --max-upload",
    ],
)
@pytest.mark.parametrize("number", ["-2000000", f"{10**30}"])
def test_an_integer_out_of_bounds_is_a_ccn_error(
    ccn: Callable[..., None], run: Path, table: Path, words: str, number: str
) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(number)):
        ccn(*words.format(run=run, table=table).split(), number)

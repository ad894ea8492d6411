"""What commands print: names from data as they are, and JSON that is JSON."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from ccn import sealed
from ccn.cli.show import print_json, say, table
from ccn.files import json_safe
from ccn.learning import model_file

Call = Callable[..., None]
NAMES = ("k [/s]", "logS [mol/L]", "a:cat:b")


def test_tables_show_brackets_and_colons(capsys: pytest.CaptureFixture[str]) -> None:
    table("[/title]", ["", "[red]part"], [[name, "1"] for name in NAMES])
    said = capsys.readouterr().out
    assert all(text in said for text in (*NAMES, "[/title]", "[red]part"))


def test_a_cell_of_millions_of_characters_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    table("t", ["", ""], [["name", "hydrogens and " * 500_000]])
    assert 5000 < len(capsys.readouterr().out) < 50_000


def test_lines_are_logged_also_if_nothing_is_printed(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO, "ccn")
    for quiet in (True, False):
        say(quiet)("a\x1bb")
    assert [record.getMessage() for record in caplog.records] == ["a\\x1bb"] * 2
    assert capsys.readouterr().err == "a\\x1bb\n"


def test_targets_with_brackets_go_through_every_command(
    ccn: Call, tmp_path: Path, tiny: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    source, run = tmp_path / "t.csv", tmp_path / "run"
    lines = [f"{'C' * (i + 1)}O,{i}.5,{i}.25" for i in range(20)]
    source.write_text("\n".join([f"smiles,{NAMES[0]},{NAMES[1]}", *lines]) + "\n")
    targets = ("--target", NAMES[0], "--target", NAMES[1])
    ccn("train", source, *targets, "-o", run, *tiny)
    ccn("evaluate", run, source)
    assert capsys.readouterr().out.count(f"mae[{NAMES[0]}]") == 2
    ccn("info", run)
    assert f"{NAMES[0]}, {NAMES[1]}" in capsys.readouterr().out
    ccn("data", "info", source, "--target-columns", *NAMES[:2])
    assert NAMES[1] in capsys.readouterr().out


def test_json_has_null_for_what_is_not_a_number(
    ccn: Call, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    print_json({"a": float("nan"), "b": [float("inf"), 1.5], "c": Path("x")})
    assert _strict(capsys.readouterr().out) == {"a": None, "b": [None, 1.5], "c": "x"}
    held = sealed.read(run / "model.safetensors", {model_file.FORM: model_file.VERSION})
    tensors, data = held.tensors, held.data
    data["calibration"]["scores"][0][0] = float("nan")
    sealed.write(tmp_path / "m.safetensors", model_file.FORM, model_file.VERSION, tensors, data)
    ccn("info", tmp_path / "m.safetensors", "--json")
    assert _strict(capsys.readouterr().out) == json_safe(data)


def _strict(text: str) -> object:
    """JSON without the words that Python's reader takes besides."""
    return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))

"""`ccn info`: the description of a model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ccn import sealed
from ccn.cli import main
from ccn.learning import model_file


def test_a_model_describes_itself(ccn: Callable[..., None], run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ccn("info", run)
    assert "size (regression)" in capsys.readouterr().out
    ccn("info", run, "--json")
    assert json.loads(capsys.readouterr().out)["about"]["smiles_column"] == "smiles"


def _forged(run: Path, path: Path, change: Callable[[dict[str, Any]], Any], form: str = model_file.FORM) -> Path:
    held = sealed.read(run / "model.safetensors", {model_file.FORM: model_file.VERSION})
    change(held.data)
    sealed.write(path, form, model_file.VERSION, held.tensors, held.data)
    return path


def test_terminal_escapes_of_a_model_do_not_reach_the_terminal(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = "\x1b]0;x\x07\x9b31m\u202e\ud800\r"

    def change(data: dict[str, Any]) -> None:
        data["task"]["targets"] = [evil]
        data["about"] |= {"data": evil, "smiles_column": evil, "metrics": {evil: {evil: 1.0}}}
        data["ccn"] = evil

    path = _forged(run, tmp_path / "m.safetensors", change)
    other = _forged(run, tmp_path / "o.safetensors", change, "ccn \x1b[31m")
    for words in ([str(path)], [str(path), "--json"], [str(other)]):
        try:
            main(["info", *words])
        except SystemExit as ended:
            assert ended.code in (0, None) or words == [str(other)]  # noqa: PT017
        said = "".join(capsys.readouterr())
        assert "x1b" in said or "u001b" in said
        assert not {c for c in said if not c.isprintable()} - {"\n"}


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["about"].update(graphs={"train": "many"}),
        lambda d: d["about"].update(metrics={"test": 3}),
        lambda d: d["about"].update(chosen=[3]),
        lambda d: d["learned"].update(recipe="x"),
        lambda d: d["learned"].update(options={"contractions": 1}),
        lambda d: d["about"].update(fingerprint=3, smiles_column=4),
    ],
)
def test_a_description_of_other_types_is_shown_or_refused(
    change: Callable[[dict[str, Any]], Any], run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _forged(run, tmp_path / "m.safetensors", change)
    try:
        main(["info", str(path)])
    except SystemExit as ended:
        assert ended.code in (0, 1, None)  # noqa: PT017
    assert "internal" not in capsys.readouterr().err

"""Flags from settings: every setting has one, and what is given becomes a value of the configuration."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from ccn.cli import app, main
from ccn.cli.options import ALL_SECTIONS, given

FLAGS = {
    f.name: flag
    for kind in ALL_SECTIONS.values()
    for f in fields(kind)
    for flag in (f.metadata["flags"] if f.metadata["flags"] is not None else [f"--{f.name.replace('_', '-')}"])
}


def parsed(*words: str) -> dict[str, dict[str, Any]]:
    _, bound, _ = app.parse_args(["train", "x.csv", *words], exit_on_error=False)
    bound.apply_defaults()
    return given(ALL_SECTIONS, bound.arguments["settings"].flags)


@pytest.mark.parametrize("verb", ["train", "tune"])
def test_train_and_tune_have_a_flag_for_every_setting_with_help(verb: str) -> None:
    arguments = app[verb].assemble_argument_collection(parse_docstring=True)
    help_of = {name: a.parameter.help for a in arguments for name in a.names}
    assert all(help_of[flag] for flag in FLAGS.values())
    assert not [a.names for a in arguments if a.show and not a.parameter.help]


@pytest.mark.parametrize(
    ("words", "section", "values"),
    [
        (["--order", "2,2,1"], "network", {"order": (2, 2, 1)}),
        (["--channels", "8"], "network", {"channels": 8}),
        (["--adjacency", "both"], "network", {"adjacency": "both"}),
        (["--adjacency", "false"], "network", {"adjacency": False}),
        (["--no-edge-features"], "network", {"edge_features": False}),
        (["--dropout", "none"], "network", {"dropout": "none"}),
        (["--norm", "none"], "network", {"norm": "none"}),
        (["--fractions", "0.7,0.2,0.1"], "splitting", {"fractions": (0.7, 0.2, 0.1)}),
        (["--split", "none"], "splitting", {"split": "none"}),
        (["--target", "1", "--target-columns", "b,c"], "data", {"target_columns": ["1", "b,c"]}),
        (["--extra-columns", 'pH, "a,b"', "--extra-columns", "7"], "data", {"extra_columns": ["pH", "a,b", "7"]}),
        (["--smiles-columns", "2"], "data", {"smiles_column": "2"}),
        (["--features", "atoms"], "features", {"molecules": "atoms"}),
        (["--optimiser", "sgd"], "optimiser", {"method": "sgd"}),
        (["--patience", "none"], "training", {"patience": "none"}),
    ],
)
def test_words_become_values(words: list[str], section: str, values: dict[str, Any]) -> None:
    assert parsed(*words) == {section: values}


def test_nothing_is_given_by_default() -> None:
    assert parsed() == {}


def test_a_setting_of_files_only_has_no_flag(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["train", "x.csv", "--scheme", "balls"])
    assert ended.value.code == 2
    assert "--scheme" in capsys.readouterr().err

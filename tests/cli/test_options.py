"""Flags from settings: every setting has one, and what is given becomes a value of the configuration."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from ccn.cli import app, main
from ccn.cli.options import ALL_SECTIONS, about_columns, given, with_flags

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
        (["--contractions", "abx,xy->ab"], "network", {"contractions": ("abx,xy->ab",)}),
        (["--contractions", "abx,xy->ab axx,by->ab"], "network", {"contractions": ("abx,xy->ab", "axx,by->ab")}),
        (["--channels", "8"], "network", {"channels": 8}),
        (["--adjacency", "both"], "network", {"adjacency": "both"}),
        (["--adjacency", "false"], "network", {"adjacency": False}),
        (["--no-edge-features"], "network", {"edge_features": False}),
        (["--dropout", "none"], "network", {"dropout": "none"}),
        (["--least-steps", "none"], "training", {"least_steps": "none"}),
        (["--least-steps", "auto"], "training", {"least_steps": "auto"}),
        (["--least-steps", "20"], "training", {"least_steps": 20}),
        (["--weight-column", "none"], "data", {"weight_column": "none"}),
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


@pytest.mark.parametrize("flag", ["--epochs", "--learning-rate", "--loss"])
def test_none_is_refused_where_a_setting_cannot_be_off(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["train", "x.csv", flag, "none"])
    assert ended.value.code == 2
    assert flag in capsys.readouterr().err


@pytest.mark.parametrize(("name", "flag"), FLAGS.items())
def test_errors_name_the_flag_of_every_setting(name: str, flag: str) -> None:
    flag = with_flags(f"({name})", [])[1:-1]
    assert flag in app["train"].assemble_argument_collection().match(flag)[0].names
    assert with_flags(f"{name}=-1.5: it must be more", []) == f"{flag} -1.5: it must be more"
    assert with_flags(f"pass {name}='x'", []) == f"pass {flag} 'x'"
    assert with_flags(f"data/{name}=2/x.csv, '{name}' and {name}", []) == f"data/{name}=2/x.csv, '{name}' and {name}"


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("own=True", "--own"),
        ("own=False", "--no-own"),
        ("adjacency=False", "--adjacency false"),
        ("patience=None", "--patience none"),
        ("fractions=(0.5, 0.6): sum", "--fractions 0.5,0.6: sum"),
        ("scheme='x' is not known", "--scheme 'x' is not known"),
        ("c.toml: seed='x'", "c.toml: seed='x'"),
    ],
)
def test_values_are_written_as_on_the_command_line(message: str, said: str) -> None:
    assert with_flags(message, []) == said


def test_a_setting_of_a_file_is_named_as_there(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text('[network]\nnonlinearity = "x"\n')
    message = "nonlinearity='x' is not known; pass adjacency=False"
    for words in (["--config", str(path)], [f"--config={path}"]):
        assert with_flags(message, words).startswith(
            f"{path}: network.nonlinearity='x' is not known; pass --adjacency "
        )
        assert with_flags(message, [*words, "--nonlinearity=x"]).startswith("--nonlinearity 'x'")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["{table}", "--target", "log", "of", "y"], "--target 'log of y'"),
        (["--target=log", "of", "y", "{table}", "--quiet"], "--target 'log of y'"),
        (["nowhere.csv", "--weight-column", "my", "weight"], "--weight-column 'my weight'"),
        (["{table}", "--target", "smiles", "log of y"], "--target smiles --target 'log of y'"),
        (["{table}", "rest", "--target", "y", "--epochs", "2", "3"], ""),
    ],
)
def test_words_after_a_flag_of_columns_are_one_name_or_several(
    words: list[str], hint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.csv").write_text("smiles,log of y\nC,1\n")
    given = [word.format(table=tmp_path / "t.csv") for word in words]
    found = about_columns(given)
    assert (bool(found), found.endswith(hint)) == (bool(hint), True)
    with pytest.raises(SystemExit) as ended:
        main(["train", *given])
    assert ended.value.code == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert (said.startswith("ccn: ") and said.endswith(hint)) == bool(hint)


def test_flags_that_are_not_given_pass_where_pydantic_is_imported() -> None:
    pytest.importorskip("pydantic")  # with which cyclopts then validates
    _, bound, _ = app.parse_args(["train", "x.csv", "--target", "y", "--channels", "3"], exit_on_error=False)
    settings = bound.arguments["settings"]
    assert (settings.flags.channels, settings.flags.adjacency) == ("3", None)

"""Names of models."""

from __future__ import annotations

from pathlib import Path

import pytest

from ccn.errors import ConfigurationError
from ccn.serving.catalogue import names_of


def test_names_are_those_of_runs_files_or_chosen(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "a=b").mkdir()
    words = [f"{tmp_path}/run", f"{tmp_path}/x.safetensors", f"mine={tmp_path}/run", f"{tmp_path}/a=b"]
    assert list(names_of(words)) == ["run", "x", "mine", "a=b"]
    assert list(names_of([f"{tmp_path}/other/model.safetensors"])) == ["other"]


@pytest.mark.parametrize("words", [["a/run", "b/run"], ["x=a", "x=b"], ["=a"]])
def test_two_models_cannot_have_one_name(words: list[str]) -> None:
    with pytest.raises(ConfigurationError):
        names_of(words)

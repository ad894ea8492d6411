"""Explanations of the molecules of a file, by the model of a run's folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ccn
from ccn.errors import ConfigurationError, DataError
from ccn.runs.explain import Asked, explain_source

SMILES = [f"{'C' * n}{end}" for n in range(1, 8) for end in ("O", "N", "Cl")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model: Any = ccn.CCNClassifier(method="gp").fit(SMILES, ["yes" if "O" in s else "no" for s in SMILES])
    out = tmp_path_factory.mktemp("run")
    model.save(out / "model.safetensors", share_training=True)
    return out


def test_rows_that_are_no_molecules_have_a_reason(folder: Path, tmp_path: Path) -> None:
    table = tmp_path / "new.csv"
    table.write_text("name,smiles\na,CCO\nb,nonsense\nc,CCN\n")
    found = explain_source(folder, str(table), tmp_path / "why.html")
    assert [card.name for card in found.cards] == ["a", "c"]
    assert [i for i, _ in found.faults] == [1]
    assert (tmp_path / "why.html").stat().st_size
    for card in found.cards:
        e = card.explanation
        np.testing.assert_allclose(e.baseline + sum(e.totals.values()), e.prediction, rtol=1e-9)


def test_similar_training_molecules_have_another_answer(folder: Path) -> None:
    found = explain_source(folder, ("CCCCCCO", "CCCCCCN"), asked=Asked(neighbours=2)).cards
    assert [[o.value for o in card.others] for card in found] == [["no", "no"], ["yes", "yes"]]


def test_what_cannot_be_explained_is_an_error(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError):
        explain_source(folder, ("CCO",), asked=Asked(target="other"))
    with pytest.raises(ConfigurationError):
        explain_source(folder, ("CCO",), asked=Asked(pairs=True))
    table = tmp_path / "none.csv"
    table.write_text("smiles\nC1CC\n")
    with pytest.raises(DataError):
        explain_source(folder, str(table))

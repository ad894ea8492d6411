"""Small models, made once."""

from __future__ import annotations

from pathlib import Path

import pytest

import ccn
from ccn.learning.model import Model
from ccn.learning.model_file import load

SMILES = [f"{'C' * (1 + i // 2)}{'ON'[i % 2]}" for i in range(20)]


@pytest.fixture(scope="session")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """Alcohols and amines."""
    net = ccn.CCNClassifier(epochs=1, order=1, levels=1, channels=4, features="element", random_state=0)
    net.fit(SMILES, [("alcohol", "amine")[i % 2] for i in range(20)])
    path: Path = net.save(tmp_path_factory.mktemp("classes") / "m.safetensors")
    return load(path)


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a network of a number."""
    net = ccn.CCNRegressor(epochs=1, order=1, levels=1, channels=4, features="element", random_state=0)
    path: Path = net.fit(SMILES, [float(len(s)) for s in SMILES]).save(tmp_path_factory.mktemp("m") / "m.safetensors")
    return path

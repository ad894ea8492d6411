"""Models that the tests of explanations share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ccn

SMILES = [f"{'C' * n}{end}" for n in range(1, 8) for end in ("O", "N", "C(=O)O", "c1ccccc1", "Cl")]


@pytest.fixture(scope="session")
def numbers() -> Any:
    """A model of numbers."""
    return ccn.CCNRegressor(method="gp").fit(SMILES, [len(s) - 3.0 * s.count("O") for s in SMILES])


@pytest.fixture(scope="session")
def classes() -> Any:
    """A model of three classes."""
    y = np.array(["acid" if "=O" in s else "ring" if "c1" in s else "chain" for s in SMILES])
    return ccn.CCNClassifier(method="gp").fit(SMILES, y)


@pytest.fixture(scope="session")
def network() -> Any:
    """A network of order 2."""
    settings = {"order": 2, "levels": 2, "channels": 3, "epochs": 2, "least_steps": 2, "dropout": 0.0}
    return ccn.CCNRegressor(settings=settings, random_state=0).fit(SMILES, [float(len(s)) for s in SMILES])

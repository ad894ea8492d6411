"""Features of a molecule as a whole, by name: one row of numbers per molecule, from RDKit."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["FINGERPRINTS", "fingerprint_row"]

_BITS, _RADIUS = 1024, 2


@cache
def _morgan_generator() -> Any:
    from rdkit.Chem import rdFingerprintGenerator

    return rdFingerprintGenerator.GetMorganGenerator(radius=_RADIUS, fpSize=_BITS)


def _morgan(mol: Any) -> NDArray[Any]:
    """Counts of circular substructures up to radius 2, folded into 1,024 columns."""
    counts = _morgan_generator().GetCountFingerprintAsNumPy(mol)
    return np.asarray(np.minimum(counts, 255), dtype=np.uint8)


FINGERPRINTS: dict[str, Callable[[Any], NDArray[Any]]] = {"morgan": _morgan}
"""From an RDKit molecule to a row of fixed width and type."""


def fingerprint_row(names: tuple[str, ...], mol: Any) -> NDArray[Any]:
    """The named fingerprints of a molecule, one after another.

    Example:
        >>> from rdkit import Chem
        >>> row = fingerprint_row(("morgan",), Chem.MolFromSmiles("CCO"))
        >>> row.shape, int(row.sum())
        ((1024,), 6)
    """
    return np.concatenate([FINGERPRINTS[name](mol) for name in names])

"""Features of a molecule as a whole, by name: one row of numbers per molecule, from RDKit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccn.chemistry.descriptors import DESCRIPTORS, descriptor_row
from ccn.errors import CCNError, ConfigurationError, GraphError

__all__ = [
    "COLUMNS",
    "FINGERPRINTS",
    "Fingerprint",
    "columns_of",
    "fingerprint_row",
    "molecule_columns",
    "morgan_parts",
]

COLUMNS = "columns"
"""The name, beside those of :data:`FINGERPRINTS`, of the numeric columns of a table."""
_BITS, _RADIUS, _ERG = 1024, 2, 315


@dataclass(frozen=True)
class Fingerprint:
    """Some features of a molecule as a whole.

    Attributes:
        row: from an RDKit molecule to a row of fixed width and type.
        columns: their names, or their number.
    """

    row: Callable[[Any], NDArray[Any]]
    columns: tuple[str, ...] | int


@cache
def _morgan_generator() -> Any:
    from rdkit.Chem import rdFingerprintGenerator

    return rdFingerprintGenerator.GetMorganGenerator(radius=_RADIUS, fpSize=_BITS)


def _morgan(mol: Any) -> NDArray[Any]:
    """Counts of circular substructures up to radius 2, folded into 1,024 columns."""
    counts = _morgan_generator().GetCountFingerprintAsNumPy(mol)
    return np.asarray(np.minimum(counts, 255), dtype=np.uint8)


def morgan_parts(mol: Any) -> dict[int, list[list[int]]]:
    """For each column of the Morgan fingerprint that counts something, the atoms of every substructure it counts.

    Example:
        >>> from rdkit import Chem
        >>> sorted(morgan_parts(Chem.MolFromSmiles("CCO")).values())
        [[[0]], [[0, 1]], [[0, 1, 2]], [[1]], [[1, 2]], [[2]]]
    """
    from rdkit.Chem import GetDistanceMatrix, rdFingerprintGenerator

    found = rdFingerprintGenerator.AdditionalOutput()
    found.AllocateBitInfoMap()
    _morgan_generator().GetCountFingerprint(mol, additionalOutput=found)
    distance = GetDistanceMatrix(mol)
    return {
        bit: [np.flatnonzero(distance[atom] <= radius).tolist() for atom, radius in places]
        for bit, places in found.GetBitInfoMap().items()
    }


def _avalon(mol: Any) -> NDArray[Any]:
    """Counts of Avalon's paths, rings and augmented atoms, folded into 1,024 columns."""
    from rdkit.Avalon.pyAvalonTools import GetAvalonCountFP

    found = GetAvalonCountFP(mol, _BITS).GetNonzeroElements()
    row = np.zeros(_BITS, dtype=np.uint8)
    row[list(found)] = np.minimum(list(found.values()), 255)
    return row


def _erg(mol: Any) -> NDArray[Any]:
    """Pairs of pharmacophore points of the extended reduced graph, by distance."""
    from rdkit.Chem.rdReducedGraphs import GetErGFingerprint

    return np.asarray(GetErGFingerprint(mol), dtype=np.float32)


FINGERPRINTS: dict[str, Fingerprint] = {
    "morgan": Fingerprint(_morgan, _BITS),
    "avalon": Fingerprint(_avalon, _BITS),
    "erg": Fingerprint(_erg, _ERG),
    "descriptors": Fingerprint(descriptor_row, DESCRIPTORS),
}
"""Features of a molecule as a whole."""


def fingerprint_row(names: Sequence[str], mol: Any) -> NDArray[Any]:
    """The named features of a molecule, one after another; float32 if one of them has numbers, uint8 if all count.

    Example:
        >>> from rdkit import Chem
        >>> row = fingerprint_row(("morgan",), Chem.MolFromSmiles("CCO"))
        >>> row.shape, int(row.sum())
        ((1024,), 6)
    """
    try:
        return np.concatenate([FINGERPRINTS[name].row(mol) for name in names])
    except CCNError:
        raise
    except (RuntimeError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise GraphError(f"RDKit cannot give the features {'+'.join(names)} of this molecule ({reason})") from None


def columns_of(names: Sequence[str], extra: Sequence[str] = ()) -> dict[str, slice]:
    """Where each name stands in a row; ``columns`` are the numeric columns of a table that stand behind.

    Example:
        >>> columns_of(("morgan", "erg"), ("pH",))
        {'morgan': slice(0, 1024, None), 'erg': slice(1024, 1339, None), 'columns': slice(1339, 1340, None)}
    """
    out: dict[str, slice] = {}
    at = 0
    for name, columns in _named(names, extra).items():
        out[name] = slice(at, at := at + len(columns))
    return out


def molecule_columns(names: Sequence[str], extra: Sequence[str] = ()) -> tuple[str, ...]:
    """The names of the columns of a row.

    Example:
        >>> molecule_columns(("morgan", "descriptors"), ("pH",))[1023:1025]
        ('morgan.1023', 'descriptors.MolWt')
    """
    return tuple(column for columns in _named(names, extra).values() for column in columns)


def _named(names: Sequence[str], extra: Sequence[str]) -> dict[str, list[str]]:
    """The columns of each name."""
    if unknown := [name for name in names if name not in FINGERPRINTS]:
        raise ConfigurationError(f"molecule features {unknown[0]!r}: choose from {', '.join(FINGERPRINTS)}")
    named: dict[str, Sequence[str] | int] = {name: FINGERPRINTS[name].columns for name in names}
    if extra:
        named[COLUMNS] = extra
    return {
        name: [f"{name}.{column}" for column in (range(columns) if isinstance(columns, int) else columns)]
        for name, columns in named.items()
    }

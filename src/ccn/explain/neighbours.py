"""Similar molecules with a different outcome: counterfactuals of one molecule, and the activity cliffs of a data set.

Similarity is Tanimoto's of Morgan fingerprints (radius 2, counts). What differs between two molecules is all outside of
their largest common substructure (RDKit), which is searched with a time limit; when it is exceeded,
the largest found so far is used. Pairs of equal similarity stay in the order of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ccn.chemistry.fingerprints import fingerprint_row
from ccn.chemistry.smiles import parse_smiles
from ccn.learning.task import Floats
from ccn.methods.kernels.bags import Bag, matrices, shares, unary

__all__ = ["Cliff", "Common", "Other", "cliffs", "common", "counterfactuals", "similarities"]

_SECONDS = 2  # of the search for a common substructure
_TOGETHER = 512  # molecules compared with all others at a time

Common = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Other:
    """A molecule with a different outcome than the one asked about.

    Attributes:
        row: its place among those given.
        smiles: as given.
        value: measured.
        similarity: from 0 to 1.
        common: pairs of atoms of the molecule asked about and of the other: their common substructure.
    """

    row: int
    smiles: str
    value: str
    similarity: float
    common: Common


@dataclass(frozen=True)
class Cliff:
    """Two similar molecules of a data set whose values differ strongly.

    Attributes:
        rows: their places.
        smiles, values: of both.
        similarity: from 0 to 1.
        steepness: the difference of the values over ``1 - similarity``.
        common: pairs of atoms of both: their common substructure.
    """

    rows: tuple[int, int]
    smiles: tuple[str, str]
    values: tuple[float, float]
    similarity: float
    steepness: float
    common: Common


@cache
def _row(smiles: str) -> NDArray[np.uint8]:
    return fingerprint_row(("morgan",), parse_smiles(smiles))


def _bag(smiles: Sequence[str]) -> Bag:
    """The columns of the fingerprints, each as often as it is counted; counts above 16 are rare and taken as 16."""
    counts = np.minimum(np.stack([_row(s) for s in smiles]), 16)
    molecule, column = np.nonzero(counts)
    count = counts[molecule, column].astype(np.float64)
    return unary(Bag(molecule, column.astype(np.uint64), count, len(smiles)))


def similarities(smiles: str, others: Sequence[str]) -> Floats:
    """Tanimoto's similarity of a molecule with each of others, by counted Morgan fingerprints of radius 2.

    Example:
        >>> similarities("CCO", ["OCC", "c1ccccc1"]).tolist()
        [1.0, 0.0]
    """
    found: Floats = shares(*matrices(_bag([smiles]), _bag(others)))[0]
    return found


def common(first: str, second: str) -> Common:
    """Pairs of atoms of two molecules: their largest common substructure.

    Example:
        >>> common("CCO", "OCCC")
        ((0, 2), (1, 1), (2, 0))
    """
    from rdkit import Chem, rdBase
    from rdkit.Chem import rdFMCS

    mols = parse_smiles(first), parse_smiles(second)
    with rdBase.BlockLogs():
        largest = rdFMCS.FindMCS(list(mols), ringMatchesRingOnly=True, completeRingsOnly=True, timeout=_SECONDS)
        shared = Chem.MolFromSmarts(largest.smartsString or "[#0]")
        found = [m.GetSubstructMatch(shared) for m in mols]
    return tuple(sorted(zip(*found, strict=True))) if all(found) else ()


def counterfactuals(
    smiles: str, others: Sequence[str], values: Sequence[str], answer: str | float, *, apart: float = 0.0, most: int = 3
) -> list[Other]:
    """The most similar of other molecules with a different outcome.

    Args:
        smiles: the molecule asked about.
        others, values: known molecules with their measured values, as texts; those without a value are left out.
        answer: the class of the molecule, or its number.
        apart: numbers differ if they are more than this apart.
        most: how many.
    """

    def differs(value: str) -> bool:
        return value != answer if isinstance(answer, str) else abs(float(value) - answer) > apart

    rows = [i for i, value in enumerate(values) if value != "" and differs(value)]
    if not rows:
        return []
    near = similarities(smiles, [others[i] for i in rows])
    best = [(rows[k], float(near[k])) for k in np.argsort(-near, kind="stable")[:most].tolist()]
    return [Other(i, others[i], values[i], share, common(smiles, others[i])) for i, share in best]


def cliffs(
    smiles: Sequence[str], values: Floats, *, similarity: float = 0.7, apart: float | None = None, most: int = 10
) -> list[Cliff]:
    """The steepest activity cliffs of a data set: pairs that are similar and with very different values.

    Args:
        smiles: of all molecules.
        values: (molecules,) a number for each, or the number of its class; NaN where missing.
        similarity: the least of a pair.
        apart: the least difference of a pair; by default one standard deviation of the values.
        most: how many.
    """
    known = np.flatnonzero(~np.isnan(values))
    if len(known) < 2:
        return []
    y = np.asarray(values, dtype=np.float64)[known]
    apart = float(y.std()) if apart is None else apart
    (table,) = matrices(_bag([smiles[i] for i in known.tolist()]))
    found: list[tuple[float, int, int, float]] = []
    for start in range(0, len(known), _TOGETHER):
        rows = slice(start, min(start + _TOGETHER, len(known)))
        near = shares(table[rows], table)
        gap = np.abs(y[rows, None] - y)
        later = np.arange(len(known)) > np.arange(rows.start, rows.stop)[:, None]
        # Equal fingerprints are stereoisomers or long chains: nothing to see on a drawing.
        i, j = np.nonzero(later & (near >= similarity) & (near < 1) & (gap >= apart) & (gap > 0))
        found += [
            (float(gap[a, b] / (1 - near[a, b])), int(a + start), int(b), float(near[a, b]))
            for a, b in zip(i, j, strict=True)
        ]
        found = sorted(found, key=lambda f: (-f[0], f[1], f[2]))[:most]
    out = []
    for steep, a, b, share in found:
        first, second = int(known[a]), int(known[b])
        pair = smiles[first], smiles[second]
        out.append(Cliff((first, second), pair, (float(y[a]), float(y[b])), share, steep, common(*pair)))
    return out

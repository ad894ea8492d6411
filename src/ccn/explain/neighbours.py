"""Similar molecules with a different outcome: counterfactuals of one molecule, and the activity cliffs of a data set.

Similarity is Tanimoto's of Morgan fingerprints (radius 2, counts). What differs between two molecules is all outside of
their largest common substructure (RDKit), which is searched with a time limit; when it is exceeded,
the largest found so far is used. Pairs of equal similarity stay in the order of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccn.chemistry.fingerprints import fingerprint_row
from ccn.chemistry.smiles import parse_smiles
from ccn.learning.task import Floats

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


def _table(smiles: Sequence[str]) -> Any:
    import scipy.sparse as sp

    return sp.csr_array(np.stack([_row(s) for s in smiles]).astype(np.float64))


def _similarity(a: Any, b: Any) -> Floats:
    """(rows of a, rows of b) sums of minima over sums of maxima of counts."""
    left, right = (_unary(x) for x in (a, b))
    both = np.asarray((left @ right.T).toarray())
    either = np.asarray(left.sum(axis=1))[:, None] + np.asarray(right.sum(axis=1)) - both
    return np.asarray(both / np.maximum(either, 1))


def similarities(smiles: str, others: Sequence[str]) -> Floats:
    """Tanimoto's similarity of a molecule with each of others, by counted Morgan fingerprints of radius 2.

    Example:
        >>> similarities("CCO", ["OCC", "c1ccccc1"]).tolist()
        [1.0, 0.0]
    """
    found: Floats = _similarity(_table([smiles]), _table(others))[0]
    return found


def _unary(table: Any) -> Any:
    """A count c as ones at the first c of 16 places; larger counts are rare and count as 16."""
    import scipy.sparse as sp

    t = table.tocoo()
    times = np.minimum(t.data, 16).astype(np.int64)
    row, start = np.repeat(t.row, times), np.repeat(np.cumsum(times) - times, times)
    place = np.repeat(t.col, times) * 16 + np.arange(len(row)) - start
    return sp.csr_array((np.ones(len(row)), (row, place)), shape=(table.shape[0], table.shape[1] * 16))


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
    known = [i for i, v in enumerate(values) if v != ""]
    if isinstance(answer, str):
        known = [i for i in known if values[i] != answer]
    else:
        known = [i for i in known if abs(float(values[i]) - answer) > apart]
    if not known:
        return []
    near = similarities(smiles, [others[i] for i in known])
    found = []
    for k in np.argsort(-near, kind="stable")[:most].tolist():
        i = known[k]
        found.append(Other(i, others[i], values[i], float(near[k]), common(smiles, others[i])))
    return found


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
    table = _table([smiles[i] for i in known.tolist()])
    found: list[tuple[float, int, int, float]] = []
    for start in range(0, len(known), _TOGETHER):
        rows = slice(start, min(start + _TOGETHER, len(known)))
        near = _similarity(table[rows], table)
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
    for steep, a, b, near_by in found:
        first, second = int(known[a]), int(known[b])
        pair = smiles[first], smiles[second]
        numbers = (float(y[a]), float(y[b]))
        out.append(Cliff((first, second), pair, numbers, near_by, steep, common(*pair)))
    return out

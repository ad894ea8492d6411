"""Assigning rows to parts: sizes exact to rounding, classes in proportion, groups kept together.

One rule serves every kind of split. scikit-learn has a separate rule for each kind; those refuse small classes, and
with groups they count groups instead of rows.

A group is an integer per row; rows of one number are one group. The same molecule under two spellings is one group,
and so are, for a harder test, all molecules of one scaffold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ccn.chemistry.smiles import MAX_ATOMS, parse_smiles
from ccn.errors import ConfigurationError
from ccn.graphs.ragged import Int, starts

__all__ = [
    "allot",
    "canonical_smiles",
    "deal",
    "fold_groups",
    "groups_of",
    "join_groups",
    "molecule_groups",
    "quotas",
    "scaffold_groups",
]

Shares = NDArray[np.float64]


def deal(shares: Shares, strata: Int, groups: Int, rng: np.random.Generator, *, train_first: bool = False) -> Int:
    """(rows,) the part of each row; part p gets ``shares[p]`` of all rows and of each stratum.

    Groups of several rows come first, large ones before small ones, each to a part at random in proportion to the
    room left there for the class of its first row, provided it takes at most half of that room; a group too large for
    every part goes where most room is left. Single rows then fill the parts, and sizes are exact.

    With ``train_first`` part 0 is for training, where no class should be missing.
    """
    room = quotas(np.bincount(strata), shares, rng, train_first=train_first)
    part = np.full(len(strata), -1)
    size = np.bincount(groups)
    order, start = np.argsort(groups, kind="stable"), starts(size)
    several = rng.permutation(np.flatnonzero(size > 1))
    left, empty = len(size), shares > 0
    for g in several[np.argsort(-size[several], kind="stable")]:
        rows = order[start[g] : start[g + 1]]
        free = np.maximum(room[strata[rows[0]]], 0)
        # As many groups as empty parts: each of those gets one.
        fits = empty if left <= empty.sum() else 2 * len(rows) <= free
        chance = np.where(fits, free, 0)
        if chance.any():
            chosen = int(rng.choice(len(shares), p=chance / chance.sum()))
        else:
            chosen = int(np.argmax(fits if fits.any() else free))
        part[rows] = chosen
        np.subtract.at(room[:, chosen], strata[rows], 1)
        left -= 1
        empty[chosen] = False
    single = rng.permutation(np.flatnonzero(part < 0))
    dealt = _fill(single, strata, room)
    bare = np.setdiff1d(np.flatnonzero(shares > 0), np.concatenate([part, dealt]))
    if bare.size:  # rounding has left a part empty: it is filled first
        first = min(len(single), len(bare))
        room[strata[single[:first]], bare[:first]] -= 1
        dealt = np.concatenate([bare[:first], _fill(single[first:], strata, room)])
    part[single] = dealt
    if np.setdiff1d(np.flatnonzero(shares > 0), part).size:
        raise ConfigurationError(
            f"{len(strata)} rows in {len(size)} groups are too few for {np.count_nonzero(shares)} parts; "
            "give more rows, or ask for fewer parts (a fraction of 0 leaves one out)"
        )
    return part


def _fill(single: Int, strata: Int, room: Int) -> Int:
    """The parts of single rows, by the room that is left for their classes."""
    order = np.argsort(strata[single], kind="stable")
    counts = np.bincount(strata[single], minlength=len(room))
    dealt = [allot(int(n), free) for n, free in zip(counts, np.maximum(room, 0), strict=True)]
    out = np.empty(len(single), dtype=np.int64)
    out[order] = np.repeat(np.tile(np.arange(room.shape[1]), len(room)), np.concatenate(dealt))
    return out


def allot(n: int, shares: NDArray[np.float64] | Int) -> Int:
    """Divide n into integers by largest remainder; every positive share gets at least one where n allows it.

    Example:
        >>> allot(188, np.array([0.8, 0.1, 0.1])).tolist(), allot(4, np.array([0.8, 0.1, 0.1])).tolist()
        ([150, 19, 19], [2, 1, 1])
    """
    out = np.zeros(len(shares), dtype=np.int64)
    if n:
        exact = n * shares / shares.sum()
        out += np.floor(exact).astype(np.int64)
        out[np.argsort(out - exact, kind="stable")[: n - out.sum()]] += 1
        if n >= np.count_nonzero(shares):
            for p in np.flatnonzero((shares > 0) & (out == 0)):
                out[np.argmax(out)] -= 1
                out[p] += 1
    return out


def quotas(counts: Int, shares: Shares, rng: np.random.Generator, *, train_first: bool = False) -> Int:
    """(classes, parts) how many rows of each class go to each part: exact in total, in proportion for each class.

    The rows of each part are spread evenly over a line on which the classes lie one after another, in random order.
    The interval of every class then contains its share of every part, however small the class.
    """
    sizes = allot(int(counts.sum()), shares)
    place = np.concatenate([(np.arange(s) + rng.random()) / s for s in sizes])
    part = np.repeat(np.arange(len(sizes)), sizes)[np.argsort(place, kind="stable")]
    order = rng.permutation(len(counts))
    out = np.zeros((len(counts), len(sizes)), dtype=np.int64)
    np.add.at(out, (np.repeat(order, counts[order]), part), 1)
    # A class without a training row cannot be learned: one of its rows is exchanged with one of the largest class.
    for small in np.flatnonzero(out[:, 0] == 0).tolist() if train_first else ():
        large, to = int(np.argmax(out[:, 0])), int(np.argmax(out[small]))
        if out[large, 0] > 1:
            out[small, [0, to]] += 1, -1
            out[large, [0, to]] += -1, 1
    return out


def groups_of(values: Iterable[Any]) -> Int:
    """Equal values are one group; each missing one (None, NaN or an empty string) is a separate group.

    Example:
        >>> groups_of(["a", "b", "", "a", ""]).tolist()
        [0, 1, 2, 0, 3]
    """
    seen: dict[Any, int] = {}
    # NaN is the value that differs from itself.
    keys = (("alone", i) if v is None or v != v or v == "" else ("value", v) for i, v in enumerate(values))
    return np.array([seen.setdefault(key, len(seen)) for key in keys], dtype=np.int64)


def join_groups(*groups: ArrayLike) -> Int:
    """The finest groups that keep together what any of the given ones does.

    Example:
        >>> join_groups([0, 0, 1, 2], [5, 6, 6, 7]).tolist()
        [0, 0, 0, 1]
    """
    import scipy.sparse as sp
    from scipy.sparse.csgraph import connected_components

    columns = [np.unique(np.asarray(g), return_inverse=True)[1] for g in groups]
    n = len(columns[0])
    if any(len(c) != n for c in columns):
        raise ConfigurationError(f"groups of {sorted({len(c) for c in columns})} rows do not belong to one data set")
    # Rows and groups are vertices, membership is an edge.
    shift = n + np.cumsum([0, *(int(c.max(initial=-1)) + 1 for c in columns)])
    row = np.tile(np.arange(n), len(columns))
    group = np.concatenate([c + s for c, s in zip(columns, shift[:-1], strict=True)])
    links = sp.coo_array((np.ones(len(row)), (row, group)), shape=(shift[-1], shift[-1]))
    return groups_of(connected_components(links, directed=False)[1][:n].tolist())


def molecule_groups(molecules: Iterable[Any]) -> Int:
    """One group per molecule (SMILES or RDKit), regardless of spelling: by canonical SMILES.

    Example:
        >>> molecule_groups(["OCC", "C", "CCO"]).tolist()
        [0, 1, 0]
    """
    return groups_of(canonical_smiles(molecules))


def canonical_smiles(molecules: Iterable[Any]) -> Iterator[str]:
    """The canonical SMILES of molecules (SMILES or RDKit); empty for one that RDKit cannot write.

    It cannot if the molecule is too large, or not sanitised and impossible.
    """
    from rdkit import Chem, rdBase

    for row, given in enumerate(molecules):
        with rdBase.BlockLogs():
            try:
                mol = _parsed(row, given)
                text = Chem.MolToSmiles(mol) if mol.GetNumAtoms() <= MAX_ATOMS else ""
            except Chem.MolSanitizeException:
                text = ""
        yield text


def scaffold_groups(molecules: Iterable[Any]) -> Int:
    """One group per Murcko scaffold: the rings and what links them. Molecules without a ring are one group.

    Example:
        >>> scaffold_groups(["c1ccccc1C", "c1ccccc1O", "CC", "C1CC1", "O"]).tolist()
        [0, 0, 1, 2, 1]
    """
    from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

    return groups_of(
        str(MurckoScaffoldSmiles(mol=_parsed(row, given))) or "no ring"  # type: ignore[no-untyped-call]
        for row, given in enumerate(molecules)
    )


def fold_groups(
    canonical: Sequence[str] | None,
    groups: Iterable[Any] | None = None,
    *,
    test: Int | None = None,
    scaffolds: bool | None = None,
) -> Int | None:
    """(rows,) what folds of the training rows keep together, so that they are as hard as the test; None for nothing.

    Args:
        canonical: SMILES of the molecules, if they are any: spellings of one molecule are kept together, or scaffolds.
        groups: of the rows, kept together too.
        test: rows of the test part.
        scaffolds: keep scaffolds together; by default where none of the test part is in another.

    Example:
        >>> fold_groups(["c1ccccc1C", "c1ccccc1O", "CC", "CC"]).tolist()
        [0, 1, 2, 2]
        >>> fold_groups(["c1ccccc1C", "c1ccccc1O", "CC", "CC"], test=[2, 3]).tolist()
        [0, 0, 1, 1]
    """
    held = [] if groups is None else [groups_of(groups)]
    if canonical is not None:
        own = groups_of(canonical)
        test = own[:0] if test is None else test
        if scaffolds or (scaffolds is None and len(test)):
            larger = scaffold_groups(text or "[*]" for text in canonical)  # empty where RDKit could not write it
            if scaffolds or not np.isin(larger[test], np.delete(larger, test)).any():
                own = larger
        held.append(own)
    return join_groups(*held) if held else None


def _parsed(row: int, given: Any) -> Any:
    from rdkit.Chem import RemoveHs

    # Parsing a SMILES removes explicit hydrogens; a molecule may come with them.
    return parse_smiles(given, f"row {row}: ") if isinstance(given, str) else RemoveHs(given)

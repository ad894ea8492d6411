"""Groups: which rows of a data set must stay together when it is split.

A group is an integer per row; rows of one number are one group. The same molecule under two spellings is one group,
and so are, for a harder test, all molecules of one scaffold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ccn.chemistry.smiles import parse_smiles
from ccn.errors import ConfigurationError
from ccn.graphs.ragged import Int

__all__ = ["groups_of", "join_groups", "molecule_groups", "scaffold_groups"]


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
    from rdkit import Chem

    return groups_of(Chem.MolToSmiles(mol) for mol in _parsed(molecules))


def scaffold_groups(molecules: Iterable[Any]) -> Int:
    """One group per Murcko scaffold: the rings and what links them. Molecules without a ring are one group.

    Example:
        >>> scaffold_groups(["c1ccccc1C", "c1ccccc1O", "CC", "C1CC1", "O"]).tolist()
        [0, 0, 1, 2, 1]

    """
    from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

    return groups_of(str(MurckoScaffoldSmiles(mol=mol)) or "no ring" for mol in _parsed(molecules))  # type: ignore[no-untyped-call]


def _parsed(molecules: Iterable[Any]) -> Iterator[Any]:
    from rdkit.Chem import RemoveHs

    for row, given in enumerate(molecules):
        # Parsing a SMILES removes explicit hydrogens; a molecule may come with them.
        yield parse_smiles(given, f"row {row}: ") if isinstance(given, str) else RemoveHs(given)

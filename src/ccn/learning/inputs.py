"""From what a user gives to the graphs that a method reads, the same way in training and in every prediction."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccn.chemistry.fingerprints import COLUMNS, columns_of, fingerprint_row, molecule_columns
from ccn.chemistry.properties import SETS, MoleculeFeatures, molecule_features
from ccn.chemistry.smiles import MAX_ATOMS, MOST_ATOMS
from ccn.chemistry.standardise import Standard, check_standard, standardised
from ccn.datasets.dataset import Dataset
from ccn.datasets.dealing import canonical_smiles
from ccn.datasets.graphs import read_lines
from ccn.datasets.molecule_tables import extra_fault, smiles_columns
from ccn.datasets.molecules import convert, convert_all
from ccn.errors import ConfigurationError, GraphError
from ccn.features.vertices import VertexFeatures, vertex_features
from ccn.graphs.graph import Graph, as_graph
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Int

__all__ = ["Inputs", "Parsed", "as_list", "column_of", "read"]

Parsed = tuple[Pack | None, list[int], list[tuple[int, str]]]
"""Graphs, their places among the rows given, and (place, reason) of the rows that could not be read."""
_NAMES = ("vertex_names", "edge_names", "columns")


@dataclass(frozen=True)
class Inputs:
    """How graphs are read; part of every model file.

    Attributes:
        molecules: the set of properties of atoms and bonds where the inputs are molecules, else None.
        hydrogens: hydrogens are vertices too.
        vertices: what is made of the vertex features, fitted on the training graphs.
        max_atoms: molecules with more atoms are refused.
        standardise: the standard form that molecules are brought to, if any.
        vertex_names, edge_names: the columns of graphs that are not molecules, such as ``label=3``, where known.
        columns: the numeric columns of a table that stand behind the features of the molecule as a whole.
    """

    molecules: str | None = None
    hydrogens: bool = False
    vertices: VertexFeatures = field(default_factory=lambda: vertex_features("given"))
    vertex_names: tuple[str, ...] = ()
    edge_names: tuple[str, ...] = ()
    max_atoms: int = MAX_ATOMS
    standardise: Standard | None = None
    columns: tuple[str, ...] = ()

    @classmethod
    def of_dataset(cls, data: Dataset) -> Inputs:
        """How a data set was read."""
        how = data.options
        if "features" in how:
            more = {"max_atoms": how.get("max_atoms", MAX_ATOMS), "standardise": how.get("standardise")}
            return cls(how["features"], how["hydrogens"], columns=tuple(how.get("extra_columns", ())), **more)
        return cls(vertex_names=data.vertex_names, edge_names=data.edge_names)

    @property
    def _set(self) -> MoleculeFeatures | None:
        """The properties of atoms and bonds; None without molecules, or for a set of one's own, which is not kept."""
        known = self.molecules is not None and self.molecules.partition("+")[0] in SETS
        return molecule_features(str(self.molecules)) if known else None

    @property
    def _fingerprints(self) -> tuple[str, ...]:
        return () if self.molecules is None else molecule_features(self.molecules).fingerprints

    @property
    def graph_names(self) -> tuple[str, ...]:
        """The names of the columns of :attr:`ccn.Pack.graph_features`, such as ``descriptors.MolWt``."""
        return molecule_columns(self._fingerprints, self.columns)

    def columns_of(self) -> dict[str, slice]:
        """Where each of the features of the molecule as a whole stands in them; ``columns`` are those of the table."""
        return columns_of(self._fingerprints, self.columns)

    def fit(self, vertices: Any, graphs: Pack) -> Inputs:
        """The same with a definition of vertex features, fitted on the training graphs."""
        return replace(self, vertices=vertex_features(vertices).fit(graphs))

    def read(self, things: Any, n_jobs: int | None = 1, table: Any = None) -> Pack:
        """Graphs from SMILES, molecules, graphs, a data frame or a data set, as :attr:`vertices` expects them.

        SMILES are parsed in ``n_jobs`` processes. An error if the graphs are of another kind than those of training.
        ``table`` is the data frame with the columns that are read beside the molecule, by default ``things``.
        """
        if isinstance(things, Dataset):
            graphs = self.align(things)
            if self.molecules is not None and things.options.get("standardise") != self.standardise:
                raise ConfigurationError(
                    f"{things.name}: read it with standardise={self.standardise!r}, as the molecules of training were"
                )
        else:
            beside = None if isinstance(things, Pack) else self._beside(things if table is None else table)
            how = (self.hydrogens, n_jobs, self.max_atoms, self.standardise)
            graphs, molecules, _ = read(things, self.molecules or "element", *how)
            if molecules and self.molecules is None:
                raise ConfigurationError(
                    "the model was trained on graphs with features of their own; molecules lack them"
                )
            graphs = graphs if beside is None else graphs.with_more_graph_features(beside)
        self.vertices(graphs.select([0]))
        return graphs

    def _beside(self, things: Any) -> NDArray[np.float32] | None:
        """(rows, columns) what a data frame has in the columns that are read beside the molecule, if there are any."""
        if not self.columns:
            return None
        given = {str(name): name for name in getattr(things, "columns", ())}
        if any(name not in given for name in self.columns):
            raise self.without_columns()
        try:
            values = np.array([things[given[name]] for name in self.columns], dtype=np.float32).T
        except (TypeError, ValueError) as error:
            raise ConfigurationError(f"the columns {', '.join(self.columns)} must hold numbers ({error})") from None
        if not np.isfinite(values).all():
            row, column = np.argwhere(~np.isfinite(values))[0]
            raise ConfigurationError(f"row {row} has no number in the column {self.columns[column]!r}; leave it out")
        return values

    def without_columns(self) -> ConfigurationError:
        """The error for molecules without the columns that the model reads beside them."""
        return ConfigurationError(
            f"the model reads the columns {', '.join(self.columns)} beside the molecule; give a table that has them, "
            "in Python a data frame, or ccn.datasets.load with extra_columns"
        )

    def parse(
        self, texts: Sequence[str], bonds: bool = True, columns: NDArray[np.floating[Any]] | None = None
    ) -> Parsed:
        """Graphs from SMILES, or from lines of JSON, with a reason for each row that is none.

        Without ``bonds`` the properties of bonds are left out, for methods that do not read them. ``columns`` (rows,
        columns) are the numbers in the columns of the table, NaN where there is none.
        """
        if self.molecules is None:
            data, bad = read_lines(texts, getattr(self.vertices, "width", None))
            return (None, [], bad) if data is None else (self.align(data), np.asarray(data.rows).tolist(), bad)
        properties = molecule_features(self.molecules, self.hydrogens)
        how: dict[str, Any] = {"max_atoms": self.max_atoms, "standardise": self.standardise}
        made = convert(texts, properties if bonds else replace(properties, bond=()), **how)
        pack, good, bad = made.pack, made.good, made.bad
        if self.columns:
            if columns is None:
                raise self.without_columns()
            faults = [extra_fault(self.columns, row) for row in columns[good].tolist()]
            bad = bad + [(i, why) for i, why in zip(good.tolist(), faults, strict=True) if why]
            kept = np.array([not why for why in faults], dtype=bool)
            pack, good = pack.select(kept), good[kept]
            pack = pack.with_more_graph_features(columns[good])
        return (pack if len(pack) else None), good.tolist(), bad

    def example(self) -> Pack:
        """Two vertices and an edge, as far as the inputs say what these have."""
        if self.molecules is not None:
            plainly = replace(self, max_atoms=MAX_ATOMS, standardise=None)
            made = plainly.parse(["CC"], columns=np.zeros((1, len(self.columns))))[0]
            assert made is not None
            return made
        width = getattr(self.vertices, "width", None) or len(self.vertex_names) or 1
        kinds = np.zeros((1, len(self.edge_names)), dtype=np.float32) if self.edge_names else None
        return Pack.of([Graph([(0, 1)], np.zeros((2, width), dtype=np.float32), edge_features=kinds)])

    def align(self, data: Dataset) -> Pack:
        """The graphs of a data set with the columns of training, matched by name.

        A label that training did not have is a row of zeros; columns without names are left as they are. Features of
        graphs as a whole must all be there.
        """
        pack, theirs = data.pack, Inputs.of_dataset(data)
        if (theirs.molecules, theirs.columns) != (self.molecules, self.columns) and self.graph_names:
            given = theirs.graph_names
            place = {name.lower(): i for i, name in enumerate(given)} | {name: i for i, name in enumerate(given)}
            found = [place.get(name, place.get(name.lower(), -1)) for name in self.graph_names]
            if -1 in found:
                raise ConfigurationError(
                    f"{data.name}: read without {self.graph_names[found.index(-1)]!r}, which the model reads; load it "
                    f"with features={self.molecules!r}, extra_columns={list(self.columns)}"
                )
            pack = pack.with_graph_features(pack.graph_features[:, found])
        vertices, edges = (data.vertex_names, self.vertex_names), (data.edge_names, self.edge_names)
        for key, (names, wanted) in (("features", vertices), ("edge_features", edges)):
            if names and wanted and names != wanted:
                pack = pack.matched(key, names, wanted)
        return pack

    def dense_columns(self, graphs: Pack) -> Int:
        """The columns of ``graph_features`` that are descriptors or columns of a table, not fingerprints.

        All of them where their names are not known: those of graphs that are not molecules, or of a set of one's own.
        """
        every = np.arange(graphs.arrays["graph_features"].shape[1] if "graph_features" in graphs.arrays else 0)
        if self._set is None:
            return every
        places = self.columns_of()
        dense = (every[places[name]] for name in ("descriptors", COLUMNS) if name in places)
        return np.concatenate([every[:0], *dense])

    @property
    def vertex_columns(self) -> tuple[str, ...]:
        """The names of the columns of vertices, such as ``element=C``; empty where they are not known."""
        return self.vertex_names if self._set is None else self._set.vertex_names

    def pair_columns(self) -> Int:
        """The columns of ``graph_features`` that are pairs of pharmacophore points."""
        place = slice(0, 0) if self._set is None else self.columns_of().get("erg", slice(0, 0))
        return np.arange(place.start, place.stop)

    def stereo_columns(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The columns of vertices and of edges that distinguish mirror images, and E from Z."""
        if self._set is None:
            return (), ()
        atoms, bonds = self._set.vertex_names, self._set.edge_names
        chirality = tuple(i for i, name in enumerate(atoms) if name.startswith("chirality="))
        return chirality, tuple(i for i, name in enumerate(bonds) if name == "stereo")

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a file."""
        vertices = self.vertices.to_json()
        out: dict[str, Any] = {"molecules": self.molecules, "hydrogens": self.hydrogens, "vertices": vertices}
        if self._set is not None:
            out["properties"] = self._set.to_json()
        if self.max_atoms != MAX_ATOMS:
            out["max_atoms"] = self.max_atoms
        if self.standardise is not None:
            out["standardise"] = self.standardise
        return out | {key: list(getattr(self, key)) for key in _NAMES}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Inputs:
        """What :meth:`to_dict` wrote."""
        if data["molecules"] is not None:
            # An error now if this version does not know the set, or has other columns for it.
            molecule_features({**data.get("properties", {}), "name": data["molecules"]})
        names: dict[str, Any] = {key: tuple(data.get(key, ())) for key in _NAMES}
        atoms = min(int(data.get("max_atoms", MAX_ATOMS)), MOST_ATOMS)
        vertices = vertex_features(data["vertices"])
        names |= {"max_atoms": atoms, "standardise": check_standard(data.get("standardise"))}
        return cls(data["molecules"], bool(data["hydrogens"]), vertices, **names)


def as_list(things: Any) -> Sequence[Any]:
    """Rows from whatever holds them: a list, an array, a column, a data frame, a pack."""
    if isinstance(things, Pack):
        return things
    things, _, _ = column_of(things)
    if isinstance(things, str) or not hasattr(things, "__len__"):
        raise ConfigurationError(
            f"{type(things).__name__} is one thing, not a list of them; give a list, for example ['CCO', 'c1ccccc1']"
        )
    shape = getattr(things, "shape", None)
    if shape is not None and len(shape) == 2 and shape[1] == 1:
        things = things[:, 0]
    elif shape is not None and len(shape) != 1:
        raise ConfigurationError(f"an array of shape {tuple(shape)}: give one molecule or graph per row")
    return list(things)


def column_of(things: Any, usual: str | None = None) -> tuple[Any, str | None, list[str]]:
    """The column of molecules of a data frame, its name and those of the other columns; what is no frame as it is.

    It is the column ``usual`` if there is one, else the only one, else found as in a file. A frame, of any library, has
    a shape and ``columns``, and gives a column by its name.
    """
    if not hasattr(things, "columns") or len(getattr(things, "shape", ())) != 2:
        name = getattr(things, "name", None) if hasattr(things, "dtype") else None
        return things, name if isinstance(name, str) else None, []
    columns = list(things.columns)
    names = [str(c) for c in columns]
    if usual in names:
        found = [names.index(usual)]
    elif len(names) == 1:
        found = [0]
    else:
        found = smiles_columns(names, lambda i: (c for c in things[columns[i]] if isinstance(c, str)))
    if not found:
        shown = ", ".join(map(repr, names[:10])) + (".." if len(names) > 10 else "")
        raise ConfigurationError(f"no column of SMILES among {shown}; give one of molecules, such as X[['smiles']]")
    chosen = names[found[0]]
    if len(found) > 1 or names.count(chosen) > 1:
        several = ", ".join(repr(name) for i, name in enumerate(names) if i in found or name == chosen)
        raise ConfigurationError(f"the columns {several} may be the SMILES; give one of them, such as X[[{chosen!r}]]")
    return things[columns[found[0]]], chosen, [name for name in names if name != chosen]


def read(
    things: Any,
    molecules: str,
    hydrogens: bool,
    n_jobs: int | None = 1,
    max_atoms: int = MAX_ATOMS,
    standardise: Standard | None = None,
    *,
    canonical: bool = False,
) -> tuple[Pack, bool, list[str] | None]:
    """Graphs from SMILES, molecules or graphs of any kind, whether they are molecules, and then their canonical SMILES
    if these are asked for; an error names the row.
    """
    rows = as_list(things)
    if not len(rows):
        raise ConfigurationError("there are no rows; give at least one molecule or graph")
    if isinstance(rows, Pack):
        return rows, False, None
    kinds = [isinstance(row, str) or hasattr(row, "GetAtoms") for row in rows]
    molecular = kinds[0]
    if any(kinds) and not all(kinds):
        i = kinds.index(not molecular)
        raise ConfigurationError(f"row {i} is {_call(rows[i])}, row 0 {_call(rows[0])}; give rows of one kind")
    if all(isinstance(row, str) for row in rows):
        how: dict[str, Any] = {"n_jobs": n_jobs, "max_atoms": max_atoms, "standardise": standardise}
        made = convert_all(rows, molecule_features(molecules, hydrogens), canonical=canonical, progress=False, **how)
        if made.bad:
            i, why = made.bad[0]
            more = f"; {len(made.bad) - 1} more rows are bad too" if len(made.bad) > 1 else ""
            raise GraphError(f"row {i} ({rows[i]!r}): {why}; leave the row out or correct it{more}")
        return made.pack, True, made.canonical if canonical else None
    fingerprints = molecule_features(molecules).fingerprints
    graphs: list[Graph] = []
    mols, wholes = [], []
    for i, row in enumerate(rows):
        try:
            if not molecular:
                graphs.append(as_graph(row))
                continue
            mol = row if standardise is None else standardised(row, standardise)
            mols.append(mol)
            graphs.append(Graph.from_rdkit(mol, features=molecules, hydrogens=hydrogens))
            if fingerprints:
                wholes.append(fingerprint_row(fingerprints, mol))
        except GraphError as error:
            raise GraphError(f"row {i}: {str(error).removeprefix('graph: ')}") from None
    pack = Pack.of(graphs)
    if wholes:
        pack = pack.with_graph_features(np.stack(wholes))
    return pack, molecular, list(canonical_smiles(mols)) if canonical and molecular else None


def _call(row: Any) -> str:
    if row is None or (isinstance(row, float) and math.isnan(row)):  # as pandas has blank cells
        return "missing"
    return "a SMILES string" if isinstance(row, str) else f"of type {type(row).__name__}"

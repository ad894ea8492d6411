"""From what a user gives to the graphs that a method reads, the same way in training and in every prediction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ccn.chemistry.fingerprints import fingerprint_row
from ccn.chemistry.properties import molecule_features
from ccn.datasets.dataset import Dataset
from ccn.datasets.graphs import read_lines
from ccn.datasets.molecules import convert, pack_molecules
from ccn.errors import ConfigurationError, DataError, GraphError
from ccn.features.vertices import VertexFeatures, vertex_features
from ccn.graphs.graph import Graph, as_graph
from ccn.graphs.pack import Pack

__all__ = ["Inputs", "Parsed", "as_list", "read"]

Parsed = tuple[Pack | None, list[int], list[tuple[int, str]]]
"""Graphs, their places among the rows given, and (place, reason) of the rows that could not be read."""


@dataclass(frozen=True)
class Inputs:
    """How graphs are read; part of every model file.

    Attributes:
        molecules: the set of properties of atoms and bonds where the inputs are molecules, else None.
        hydrogens: hydrogens are vertices too.
        vertices: what is made of the vertex features, fitted on the training graphs.
        vertex_names, edge_names: the columns of graphs that are not molecules, such as ``label=3``, where known.
    """

    molecules: str | None = None
    hydrogens: bool = False
    vertices: VertexFeatures = field(default_factory=lambda: vertex_features("given"))
    vertex_names: tuple[str, ...] = ()
    edge_names: tuple[str, ...] = ()

    @classmethod
    def of_dataset(cls, data: Dataset) -> Inputs:
        """How a data set was read."""
        how = data.options
        if "features" in how:
            return cls(how["features"], how["hydrogens"])
        return cls(vertex_names=data.vertex_names, edge_names=data.edge_names)

    def fit(self, vertices: Any, graphs: Pack) -> Inputs:
        """The same with a definition of vertex features, fitted on the training graphs."""
        return replace(self, vertices=vertex_features(vertices).fit(graphs))

    def read(self, things: Any, n_jobs: int | None = 1) -> Pack:
        """Graphs from SMILES, molecules, graphs or a data set, as :attr:`vertices` expects them.

        SMILES are parsed in ``n_jobs`` processes. An error if the graphs are of another kind than those of training.
        """
        if isinstance(things, Dataset):
            graphs = self.align(things)
        else:
            graphs, molecules = read(things, self.molecules or "element", self.hydrogens, n_jobs)
            if molecules and self.molecules is None:
                raise ConfigurationError(
                    "the model was trained on graphs with features of their own; molecules lack them"
                )
        self.vertices.rows(graphs.select([0]))
        return graphs

    def parse(self, texts: Sequence[str], bonds: bool = True) -> Parsed:
        """Graphs from SMILES, or from lines of JSON, with a reason for each row that is none.

        Without ``bonds`` the properties of bonds are left out, for methods that do not read them.
        """
        if self.molecules is None:
            data, bad = read_lines(texts, getattr(self.vertices, "width", None))
            return (None, [], bad) if data is None else (self.align(data), np.asarray(data.rows).tolist(), bad)
        properties = molecule_features(self.molecules, self.hydrogens)
        made = convert(texts, properties if bonds else replace(properties, bond=()))
        return (made.pack if len(made.pack) else None), made.good.tolist(), made.bad

    def example(self) -> Pack:
        """Two vertices and an edge, as far as the inputs say what these have."""
        if self.molecules is not None:
            made = self.parse(["CC"])[0]
            assert made is not None
            return made
        width = getattr(self.vertices, "width", None) or len(self.vertex_names) or 1
        kinds = np.zeros((1, len(self.edge_names)), dtype=np.float32) if self.edge_names else None
        return Pack.of([Graph([(0, 1)], np.zeros((2, width), dtype=np.float32), edge_features=kinds)])

    def align(self, data: Dataset) -> Pack:
        """The graphs of a data set with the columns of training, matched by name.

        A label that training did not have is a row of zeros; columns without names are left as they are.
        """
        pack, arrays = data.pack, dict(data.pack.arrays)
        changed = False
        for key, names, wanted in (
            ("features", data.vertex_names, self.vertex_names),
            ("edge_features", data.edge_names, self.edge_names),
        ):
            if names and wanted and names != wanted:
                changed = True
                place = {name: i for i, name in enumerate(names)}
                none = np.zeros(len(arrays[key]), dtype=arrays[key].dtype)
                columns = [arrays[key][:, place[name]] if name in place else none for name in wanted]
                arrays[key] = np.stack(columns, axis=1)
        if not changed:
            return pack
        return Pack(arrays, pack.chosen, directed=pack.directed, self_loops=pack.self_loops, name=pack.name)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a file."""
        names = {"vertex_names": list(self.vertex_names), "edge_names": list(self.edge_names)}
        return {"molecules": self.molecules, "hydrogens": self.hydrogens, "vertices": self.vertices.to_json(), **names}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Inputs:
        """What :meth:`to_dict` wrote."""
        if data["molecules"] is not None:
            molecule_features(data["molecules"])  # an error now if this version does not know the set
        names = (tuple(data.get(key, ())) for key in ("vertex_names", "edge_names"))
        return cls(data["molecules"], bool(data["hydrogens"]), vertex_features(data["vertices"]), *names)


def as_list(things: Any) -> Sequence[Any]:
    """Rows from whatever holds them: a list, an array, a column or a table of one column, a pack."""
    if isinstance(things, Pack):
        return things
    if hasattr(things, "iloc") and getattr(things, "ndim", 1) == 2:
        if things.shape[1] != 1:
            raise ConfigurationError(
                f"a table of {things.shape[1]} columns: give the column with the molecules, for example frame['smiles']"
            )
        things = things.iloc[:, 0]
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


def read(things: Any, molecules: str, hydrogens: bool, n_jobs: int | None = 1) -> tuple[Pack, bool]:
    """Graphs from SMILES, molecules or graphs of any kind, and whether they are molecules; an error names the row."""
    rows = as_list(things)
    if not len(rows):
        raise ConfigurationError("there are no rows; give at least one molecule or graph")
    if isinstance(rows, Pack):
        return rows, False
    kinds = [isinstance(row, str) or hasattr(row, "GetAtoms") for row in rows]
    if any(kinds) and not all(kinds):
        i = kinds.index(not kinds[0])
        raise ConfigurationError(f"row {i} is {_call(rows[i])}, row 0 {_call(rows[0])}; give rows of one kind")
    if all(isinstance(row, str) for row in rows):
        return _of_smiles(rows, molecules, hydrogens, n_jobs), True
    made: list[Graph] = []
    for i, row in enumerate(rows):
        try:
            made.append(Graph.from_rdkit(row, features=molecules, hydrogens=hydrogens) if kinds[i] else as_graph(row))
        except GraphError as error:
            raise GraphError(f"row {i}: {str(error).removeprefix('graph: ')}") from None
    pack, properties = Pack.of(made), molecule_features(molecules)
    if all(kinds) and properties.fingerprints:
        pack = pack.with_graph_features(np.stack([fingerprint_row(properties.fingerprints, mol) for mol in rows]))
    return pack, all(kinds)


def _of_smiles(smiles: Sequence[str], molecules: str, hydrogens: bool, n_jobs: int | None) -> Pack:
    try:
        made = pack_molecules(smiles, molecules, hydrogens=hydrogens, n_jobs=n_jobs, progress=False)
    except DataError as error:  # not one of them is a molecule
        raise GraphError(f"row 0 ({smiles[0]!r}): {str(error).rpartition(': ')[2]}") from None
    if made.bad:
        i, why = made.bad[0]
        more = f"; {len(made.bad) - 1} more rows are bad too" if len(made.bad) > 1 else ""
        raise GraphError(f"row {i} ({smiles[i]!r}): {why}; leave the row out or correct it{more}")
    return made.pack


def _call(row: Any) -> str:
    return "a SMILES string" if isinstance(row, str) else f"of type {type(row).__name__}"

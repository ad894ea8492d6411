"""From what a user gives to the graphs that a network reads, the same way in training and ever after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ccn.chemistry.properties import molecule_features
from ccn.errors import ConfigurationError, DataError, GraphError
from ccn.features.vertices import VertexFeatures, vertex_features
from ccn.graphs.graph import Graph, as_graph
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Int
from ccn.training.recipe import Features

if TYPE_CHECKING:
    from ccn.datasets.dataset import Dataset

__all__ = ["Inputs", "as_list", "read"]


@dataclass(frozen=True)
class Inputs:
    """How graphs are read; part of every model file.

    Attributes:
        molecules: the set of properties of atoms and bonds where the inputs are molecules, else None.
        hydrogens: hydrogens are vertices too.
        vertices: what is made of the vertex features, fitted on the training graphs.
        vertex_names, edge_names: the columns of graphs that are not molecules, such as ``label=3``, where known.

    """

    molecules: str | None
    hydrogens: bool
    vertices: VertexFeatures
    vertex_names: tuple[str, ...] = ()
    edge_names: tuple[str, ...] = ()

    @classmethod
    def fit(cls, graphs: Pack, features: Features, *, molecules: bool) -> Inputs:
        """The definition of a recipe, fitted on the training graphs as :func:`read` gives them."""
        return cls(
            features.molecules if molecules else None,
            features.hydrogens and molecules,
            vertex_features(features.vertices).fit(graphs),
        )

    @classmethod
    def of_dataset(cls, data: Dataset, train: Int, features: Features) -> Inputs:
        """The same for a data set, which may have been read with another set of properties than the recipe's."""
        how = data.options
        known = "features" in how
        own = replace(features, molecules=how["features"], hydrogens=how["hydrogens"]) if known else features
        made = cls.fit(data.pack.select(train), own, molecules=known)
        return made if known else replace(made, vertex_names=data.vertex_names, edge_names=data.edge_names)

    def align(self, data: Dataset) -> Pack:
        """The graphs of a data set with the columns of training, found by their names.

        A label that training did not have is a row of zeros; columns without names are left as they are.
        """
        pack, arrays = data.pack, dict(data.pack.arrays)
        for key, names, wanted in (
            ("features", data.vertex_names, self.vertex_names),
            ("edge_features", data.edge_names, self.edge_names),
        ):
            if names and wanted and names != wanted:
                place = {name: i for i, name in enumerate(names)}
                none = np.zeros(len(arrays[key]), dtype=arrays[key].dtype)
                columns = [arrays[key][:, place[name]] if name in place else none for name in wanted]
                arrays[key] = np.stack(columns, axis=1)
        return Pack(arrays, pack.chosen, directed=pack.directed, self_loops=pack.self_loops, name=pack.name)

    def __call__(self, things: Any, n_jobs: int | None = 1) -> Pack:
        """The graphs with the features that the network reads; SMILES are parsed in ``n_jobs`` processes.

        A pack is taken to hold features as they were before ``vertices`` are made of them.
        """
        graphs, molecules = read(things, self.molecules or "element", self.hydrogens, n_jobs)
        if molecules and self.molecules is None:
            raise ConfigurationError("the model was trained on graphs with features of their own; molecules lack them")
        return self.vertices(graphs)

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
    return Pack.of(made), all(kinds)


def _of_smiles(smiles: Sequence[str], molecules: str, hydrogens: bool, n_jobs: int | None) -> Pack:
    from ccn.datasets.molecules import pack_molecules

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

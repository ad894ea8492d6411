"""The TU text format: one set of graphs in a few files, in a folder or a zip.

``DS_A.txt`` lists the nonzero places of all adjacency matrices and ``DS_graph_indicator.txt`` the graph of
each vertex; ``DS_graph_labels.txt`` has the class and ``DS_graph_attributes.txt`` the numbers to learn of each
graph; ``DS_node_labels.txt``, ``DS_node_attributes.txt``, ``DS_edge_labels.txt`` and ``DS_edge_attributes.txt``
are optional. Everything counts from 1. Edge labels may lie beside the zip, as ``DS_edge_labels.txt.gz``.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ccn.datasets.archives import open_binary, read_zip
from ccn.datasets.columns import Task, encode_targets
from ccn.datasets.dataset import Dataset
from ccn.errors import DataError, GraphError
from ccn.graphs.pack import Pack

if TYPE_CHECKING:
    from ccn.graphs.graph import Graph

__all__ = ["is_tu", "read_tu", "tu_files"]

_OF = ("graph", "node", "edge")
_PARTS = ("A", "graph_indicator", *(f"{of}_{what}" for of in _OF for what in ("labels", "attributes")))
_NUMBER_BYTES = 40  # that a number of a file takes while it is read, in all
_MOLECULES = {"MUTAG": "mutag"}  # the molecule features that equal the labels


def is_tu(folder: Path) -> bool:
    """Whether a folder holds a TU data set."""
    return any(folder.glob("*_A.txt"))


def tu_files(path: Path) -> list[Path]:
    """The files behind a TU data set: those of the folder, or the zip and what lies beside it."""
    if path.is_dir():
        return sorted(p for p in path.iterdir() if p.name.endswith((".txt", ".txt.gz")) and p.is_file())
    beside = [path.parent / f"{path.stem}_{part}.txt{end}" for part in _PARTS for end in ("", ".gz")]
    return [path, *(p for p in beside if p.is_file())]


def _texts(path: Path) -> dict[str, bytes]:
    """The text files by what follows the data set's name: ``A``, ``graph_labels``, .."""
    raw: dict[str, bytes] = {}
    for file in tu_files(path):
        if file.suffix == ".zip":
            raw.update({name.rsplit("/", 1)[-1]: content for name, content in read_zip(file, ".txt").items()})
        else:
            with open_binary(file) as stream:
                # The archive's files take precedence.
                raw.setdefault(file.name.removesuffix(".gz"), stream.read())
    names = [name.removesuffix("_A.txt") for name in raw if name.endswith("_A.txt")]
    if len(names) != 1:
        raise DataError(f"{path}: a TU data set has one file that ends in _A.txt, this one has {len(names)}")
    files = {f"{names[0]}_{part}.txt": part for part in _PARTS}
    return {part: raw[name] for name, part in files.items() if name in raw}


def _table(
    texts: dict[str, bytes], part: str, path: Path, rows: int | None = None, *, missing: bool = False
) -> NDArray[np.float64]:
    """The finite numbers of one file, (lines, columns); NaN is allowed where values may be missing."""
    where = f"{path}: the file that ends in _{part}.txt"
    if not texts[part].strip():
        out = np.empty((0, 1))
    else:
        _check_size(texts[part], where)
        try:
            stream = io.TextIOWrapper(io.BytesIO(texts[part]), "utf-8", "replace")
            out = np.loadtxt(stream, delimiter=",", dtype=np.float64, ndmin=2)
        except ValueError as error:
            raise DataError(f"{where} is not a table of numbers ({error})") from None
    if rows is not None and len(out) != rows:
        raise DataError(f"{where} has {len(out)} lines, {rows} are needed")
    if (bad := np.argwhere(np.isinf(out) if missing else ~np.isfinite(out))).size:
        line, column = bad[0]
        raise DataError(f"{where} has {out[line, column]} in line {line + 1}; give a finite number")
    return out


def _check_size(text: bytes, where: str) -> None:
    """An error, before a file is read, if its numbers would not fit into memory."""
    import torch

    from ccn.engine.memory import available_bytes

    need, free = _NUMBER_BYTES * (text.count(b",") + text.count(b"\n") + 1), available_bytes(torch.device("cpu"))
    if free is not None and need > free:
        raise DataError(
            f"{where} takes about {need / 1e9:,.1f} GB while it is read, and {free / 1e9:,.1f} GB are free; read a part"
        )


def _integers(texts: dict[str, bytes], part: str, path: Path, columns: int) -> NDArray[np.int64]:
    """The integers of one file with so many columns, (lines, columns)."""
    out = _table(texts, part, path)
    where = f"{path}: the file that ends in _{part}.txt"
    if len(out) and out.shape[1] != columns:
        raise DataError(f"{where} has {out.shape[1]} columns, {columns} are needed")
    if (bad := np.argwhere((out != np.round(out)) | (np.abs(out) >= 2.0**53))).size:
        line, column = bad[0]
        raise DataError(f"{where} has {out[line, column]:g} in line {line + 1}; vertices and graphs are integers")
    return out.astype(np.int64).reshape(-1, columns)


@dataclass(frozen=True)
class _Features:
    """Features of vertices or edges: labels by the numbers of their columns, in increasing order, and attributes."""

    labels: NDArray[np.int64] | None
    width: int
    attributes: NDArray[np.float32] | None
    names: tuple[str, ...]

    def rows(self, of: Any) -> NDArray[Any] | None:
        """What a graph holds in place of the features."""
        found = self.attributes if self.labels is None else self.labels
        return None if found is None else found[of]


def _features(texts: dict[str, bytes], of: Literal["node", "edge"], rows: int, path: Path) -> _Features:
    labels, attributes, names, width = None, None, [], 0
    if f"{of}_labels" in texts:
        given = _table(texts, f"{of}_labels", path, rows)
        labels = np.empty(given.shape, dtype=np.int64)
        for i, column in enumerate(given.T):
            values, index = np.unique(column, return_inverse=True)
            labels[:, i] = width + index
            width += len(values)
            names += [f"label{f' {i}' if given.shape[1] > 1 else ''}={value:g}" for value in values]
    if f"{of}_attributes" in texts:
        with np.errstate(over="ignore"):
            attributes = _table(texts, f"{of}_attributes", path, rows).astype(np.float32)
        if (bad := np.argwhere(np.isinf(attributes))).size:
            raise DataError(f"{path}: line {bad[0][0] + 1} of _{of}_attributes.txt has a number beyond 3.4e38")
        names += [f"attribute {i}" for i in range(attributes.shape[1])]
    return _Features(labels, width, attributes, tuple(names))


def _checked(union: Callable[[int, int], Graph], n: int) -> Graph:
    """The n graphs as one, which takes a fraction of the memory of n objects; an error names the first bad one."""
    try:
        return union(0, n)
    except GraphError:
        for i in range(n):
            union(i, i + 1)
        raise


def read_tu(
    path: str | Path,
    name: str | None = None,
    *,
    target: Literal["labels", "attributes"] | None = None,
    directed: bool = False,
    self_loops: bool = False,
) -> Dataset:
    """Read a TU data set; labels of vertices and edges become one-hot features, attributes follow as they are.

    Args:
        path: a folder or a zip.
        name: what it is called; by default after its file.
        target: what to learn, the graphs' ``labels`` (by default, where there are any) or ``attributes``.
        directed, self_loops: what kind of graphs to allow.

    Example:
        >>> from pathlib import Path
        >>> data = read_tu(Path(__file__).parent / "mutag" / "MUTAG.zip")
        >>> len(data), data.classes
        (188, (-1, 1))
    """
    from ccn.graphs.graph import Graph

    path = Path(path)
    name = path.stem if name is None else name
    texts = _texts(path)
    if target is None:
        target = "attributes" if "graph_labels" not in texts and "graph_attributes" in texts else "labels"
    missing = [need for need in ("graph_indicator", f"graph_{target}") if need not in texts]
    if missing:
        raise DataError(f"{path}: the file that ends in _{missing[0]}.txt is missing")
    places = _integers(texts, "A", path, 2) - 1
    graph_of = _integers(texts, "graph_indicator", path, 1)[:, 0] - 1
    values = _table(texts, f"graph_{target}", path, missing=True)
    n, vertices = len(values), len(graph_of)
    if not n or not vertices:
        raise DataError(f"{path}: there is no graph in it; _graph_indicator.txt or _graph_{target}.txt is empty")
    if len(places) and not 0 <= places.min() <= places.max() < vertices:
        bad = np.flatnonzero(((places < 0) | (places >= vertices)).any(1))[0]
        raise DataError(f"{path}: line {bad + 1} of _A.txt names a vertex that is not among 1..{vertices}")
    across = np.flatnonzero(graph_of[places[:, 0]] != graph_of[places[:, 1]])
    if across.size:
        raise DataError(f"{path}: line {across[0] + 1} of _A.txt joins two graphs")
    if (np.diff(graph_of) < 0).any() or graph_of[0] < 0 or graph_of[-1] >= n:
        raise DataError(f"{path}: _graph_indicator.txt must name the graphs 1..{n} in order")
    features = _features(texts, "node", vertices, path)
    edge_features = _features(texts, "edge", len(places), path)
    if not features.names:
        features = _Features(None, 0, np.ones((vertices, 1), dtype=np.uint8), ("constant",))
    start = np.searchsorted(graph_of, np.arange(n + 1))
    order = np.argsort(graph_of[places[:, 0]], kind="stable")
    cut = np.searchsorted(graph_of[places[order, 0]], np.arange(n + 1))

    def union(first: int, end: int) -> Graph:
        """The graphs ``first:end`` as one."""
        rows, at = order[cut[first] : cut[end]], slice(start[first], start[end])
        return Graph(
            places[rows] - start[first],
            features.rows(at),
            edge_features=edge_features.rows(rows),
            directed=directed,
            self_loops=self_loops,
            name=f"{name}[{first}]",
        )

    if (empty := np.flatnonzero(np.diff(start) == 0)).size:
        raise DataError(f"{path}: graph {empty[0] + 1} has no vertex in _graph_indicator.txt")
    pack = Pack.cut(_checked(union, n), start, cut, name)
    for key, of, rows in (("features", features, slice(None)), ("edge_features", edge_features, order)):
        if of.labels is not None:
            pack = pack.with_labels(
                of.labels[rows], of.width, key, None if of.attributes is None else of.attributes[rows]
            )
    word = "class" if target == "labels" else "attribute"
    names = tuple(f"{word} {i}" for i in range(values.shape[1])) if values.shape[1] > 1 else (word,)
    known = values[~np.isnan(values)]
    task: Task = "regression" if target == "attributes" or (known != np.round(known)).any() else "classification"
    columns = [[None if np.isnan(v) else v for v in column] for column in values.T.tolist()]
    targets, task, classes = encode_targets(columns, names, n, task, str(path))
    options = {"features": _MOLECULES[name], "hydrogens": False} if name in _MOLECULES else {}
    data = Dataset(name, pack, targets, names, task, classes)
    return replace(data, vertex_names=features.names, edge_names=edge_features.names, options=options)

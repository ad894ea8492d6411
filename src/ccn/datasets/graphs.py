"""Graphs from files and from other libraries: JSON lines, folders of GraphML or GML, and objects in memory.

A line of JSON is an object with ``edges`` and ``features`` (numbers per vertex), ``labels`` (one value per vertex,
made one-hot) or ``n``; ``target`` is a number, a word, a list, or an object of names and values; ``edge_features``,
``edge_labels``, ``weights``, ``id``, ``group`` and ``split`` are optional. Targets of vertices or of edges are a list
each, null where one is missing, in place of ``target``: ``vertex_target`` or ``edge_target``, or an object of names
and such lists.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ccn.datasets.columns import Strings, Task, encode_targets, ordered
from ccn.datasets.dataset import NOT_A_NUMBER, Dataset, Remark, shorten
from ccn.datasets.tables import lines_table, name_of
from ccn.errors import CCNError, DataError, GraphError
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Ragged, starts

if TYPE_CHECKING:
    from ccn.graphs.graph import Graph

Per = Literal["graph", "vertex", "edge"]

__all__ = [
    "FOLDER_SUFFIXES",
    "MAX_VERTICES",
    "from_objects",
    "graph_files",
    "read_graphs",
    "read_json_lines",
    "read_lines",
]

FOLDER_SUFFIXES = (".graphml", ".gml")
_TARGET = ("target", "targets", "y")
_OF_ITEMS: dict[str, Per] = {"vertex_target": "vertex", "edge_target": "edge"}
_WORDS = ("id", "group", "split")
_SEVERAL = "target {}"
_BY_LABEL = "labels"


@dataclass(frozen=True)
class _Record:
    """One graph as read, before labels are made one-hot over the data set."""

    edges: Any
    n: int | None = None
    features: Any = None
    labels: Sequence[Any] | None = None
    weights: Any = None
    edge_features: Any = None
    edge_labels: Sequence[Any] | None = None
    target: Any = None
    words: dict[str, str] = field(default_factory=dict)
    per: Per = "graph"


@dataclass(frozen=True)
class _Made:
    """A row that is a graph, with its text for a remark. Labels stand in the graph as the numbers of their columns."""

    row: int
    shown: str
    record: _Record
    graph: Graph
    target: dict[str, Any]

    @property
    def items(self) -> int:
        """Vertices or edges that have targets."""
        per = self.record.per
        return 1 if per == "graph" else self.graph.n if per == "vertex" else len(self.graph.edges)

    @property
    def widths(self) -> tuple[str, str | None]:
        """What its features and edge features are; None where there is no edge to have them."""

        def kind(values: Any, labels: Any) -> str:
            return _BY_LABEL if labels is not None else f"of width {0 if values is None else values.shape[1]}"

        of_vertices = kind(self.graph.features, self.record.labels)
        edges = self.graph.edge_features, self.record.edge_labels
        return of_vertices, kind(*edges) if len(self.graph.edges) else None

    def check(self, usual: Sequence[str | None], per: str) -> None:
        """An error if its features or targets are of another kind than those of most graphs."""
        for what, width, of_most in zip(("features", "edge_features"), self.widths, usual, strict=True):
            if width not in (None, of_most):
                raise GraphError(f"{what} are {width}, those of most rows {of_most}")
        if self.record.per != per:
            raise GraphError(f"its targets are of a {self.record.per}, those of most rows of a {per}")


MAX_VERTICES = 1_000_000
"""Vertices of a graph without features that are read by default: a number in a file must not fill the memory."""


def _labels(of_graphs: Iterable[Sequence[Any] | None]) -> dict[Any, int]:
    """The column of each label, over all graphs."""
    distinct = ordered({label for labels in of_graphs if labels is not None for label in labels})
    return {label: i for i, label in enumerate(distinct)}


def _check_labels(labels: Any, what: str) -> None:
    if labels is not None and not isinstance(labels, list | tuple):
        raise GraphError(f"{what} must be a list of words or numbers")
    for label in labels or ():
        if not isinstance(label, Hashable) or label is None or label != label:
            raise GraphError(f"{what} must be words or numbers, not {shorten(str(label))}")


def _reason(error: Exception) -> str:
    """What an error says; the name of its kind where it says nothing."""
    return shorten(str(error)) if isinstance(error, CCNError) else shorten(f"{type(error).__name__}: {error}")


def _graph(r: _Record, vertex: dict[Any, int], edge: dict[Any, int]) -> Graph:
    """The graph of a record, with the columns of labels in place of features."""
    from ccn.graphs.graph import Graph

    def places(labels: Sequence[Any], column: dict[Any, int]) -> NDArray[np.int64]:
        return np.array([column[label] for label in labels], dtype=np.int64).reshape(len(labels), 1)

    def numbers(values: Any) -> NDArray[np.float32] | None:
        with np.errstate(over="ignore"):  # what overflows is refused as infinite
            return None if values is None else np.asarray(values, dtype=np.float32)

    features = numbers(r.features) if r.labels is None else places(r.labels, vertex)
    edge_features = numbers(r.edge_features) if r.edge_labels is None else places(r.edge_labels, edge)
    n = r.n
    if features is None and n is None:
        n = 1 + max((max(e) for e in r.edges), default=-1)
    if features is None and isinstance(n, int) and n > MAX_VERTICES:
        raise GraphError(f"n={shorten(str(n))}, more vertices than {MAX_VERTICES:,}; give their features or labels")
    return Graph(r.edges, features, n=n, weights=numbers(r.weights), edge_features=edge_features)


def _named(target: Any) -> dict[str, Any]:
    """A target by name: the names of an object, the positions of a list."""
    if isinstance(target, list | tuple):
        return {_SEVERAL.format(i): v for i, v in enumerate(target)}
    if target is None or isinstance(target, dict):
        return target or {}
    return {"target": target}


def _targets_of(record: _Record, graph: Graph) -> dict[str, Any]:
    """The targets of a graph by name: a value each or, of its vertices or edges, a list."""
    if record.per == "graph":
        return {key: _value(value) for key, value in _named(record.target).items()}
    given = record.target if isinstance(record.target, dict) else {"target": record.target}
    count, what = (graph.n, "vertices") if record.per == "vertex" else (len(graph.edges), "edges")
    for key, values in given.items():
        if not isinstance(values, list) or len(values) != count:
            found = f"{len(values)} values" if isinstance(values, list) else shorten(str(values))
            raise GraphError(f"the target {key!r} must be a list of one value for each of {count} {what}, not {found}")
    return {key: [_value(v) for v in values] for key, values in given.items()}


def _value(value: Any) -> Any:
    """A target's value: a finite number or a word, None where missing."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return None
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str) or (isinstance(value, int | float) and abs(value) <= sys.float_info.max):
        return value
    raise GraphError(f"the target {shorten(str(value))} is neither a number nor a word")


def _read_all(
    things: Iterable[tuple[str, Any]], read: Callable[[Any], _Record], name: str, where: str, task: Task | None
) -> tuple[Dataset | None, list[Remark]]:
    """The data set of all things of which ``read`` makes a graph, None if there are none, and remarks on the others.

    Each thing comes with its text for a remark; rows count from 1.
    """
    records: list[tuple[int, str, _Record]] = []
    dropped: list[Remark] = []

    def drop(row: int, shown: str, error: Exception) -> None:
        dropped.append(Remark(row, shown, f"not a graph: {_reason(error).removeprefix('graph: ')}"))

    # Whatever is wrong with a row, the others are read.
    for row, (shown, thing) in enumerate(things, 1):
        try:
            record = read(thing)
            _check_labels(record.labels, "labels")
            _check_labels(record.edge_labels, "edge_labels")
            records.append((row, shown, record))
        except Exception as error:
            drop(row, shown, error)
    vertex, edge = _labels(r.labels for *_, r in records), _labels(r.edge_labels for *_, r in records)
    made: list[_Made] = []
    for row, shown, record in records:
        try:
            graph = _graph(record, vertex, edge)
            made.append(_Made(row, shown, record, graph, _targets_of(record, graph)))
        except Exception as error:
            drop(row, shown, error)
    kept: list[_Made] = []
    noted: list[Remark] = []
    usual = [_usual(widths) for widths in zip(*(one.widths for one in made), strict=True)]
    per = _usual(one.record.per for one in made) or "graph"
    numeric = set() if task == "classification" or per != "graph" else _numeric(one.target for one in made)
    for one in made:
        try:
            one.check(usual, per)
        except GraphError as error:
            drop(one.row, one.shown, error)
            continue
        wrong = [key for key, value in one.target.items() if key in numeric and isinstance(value, str)]
        remarks = [Remark(one.row, one.target[key], f"{NOT_A_NUMBER}: {key}") for key in wrong]
        one.target.update(dict.fromkeys(wrong))
        if wrong and all(value is None for value in one.target.values()):
            dropped += remarks
            continue
        noted += remarks
        one.graph.name = f"{name}[{len(kept)}]"
        kept.append(one)
    dropped.sort(key=lambda remark: remark.row)
    if not kept:
        return None, dropped
    data = _assembled(kept, name, where, task, (vertex, edge))
    return replace(data, dropped=tuple(dropped), noted=tuple(noted)), dropped


def _assembled(
    kept: Sequence[_Made], name: str, where: str, task: Task | None, labels: tuple[dict[Any, int], dict[Any, int]]
) -> Dataset:
    """The data set of graphs with features and targets of one kind; ``labels`` are the columns of their labels."""
    targets, words, per = [one.target for one in kept], [one.record.words for one in kept], kept[0].record.per
    names = tuple(dict.fromkeys(key for one in targets for key in one))
    items = [one.items for one in kept]
    columns = [[one.get(key) for one in targets] for key in names]
    if per != "graph":
        columns = [
            list(chain(*([None] * n if v is None else v for v, n in zip(column, items, strict=True))))
            for column in columns
        ]
    values, task, classes = encode_targets(columns, names, sum(items), task, where)
    strings: dict[str, Any] = {
        f"{key}s": Strings.of(one.get(key, "") for one in words) for key in _WORDS if any(key in one for one in words)
    }
    pack = Pack.of([one.graph for one in kept], name or None)
    kinds = zip(*(one.widths for one in kept), strict=True)
    for key, of, column in zip(("features", "edge_features"), kinds, labels, strict=True):
        if _BY_LABEL in of:
            pack = pack.with_labels(pack.arrays[key], len(column), key)
    vertex, edge = labels
    return Dataset(
        name,
        pack,
        values if per == "graph" else Ragged(values, starts(items)),
        names,
        task,
        classes,
        rows=np.array([one.row for one in kept], dtype=np.int64),
        vertex_names=tuple(f"label={label}" for label in vertex),
        edge_names=tuple(f"label={label}" for label in edge),
        per=per,
        **strings,
    )


def _dataset(
    things: Iterable[tuple[str, Any]], read: Callable[[Any], _Record], name: str, where: str, task: Task | None
) -> Dataset:
    data, dropped = _read_all(things, read, name, where, task)
    if data is None:
        raise DataError(f"{where}: no good row among {len(dropped)}" + (f"; {dropped[0]}" if dropped else ""))
    return data


def _usual(widths: Iterable[str | None]) -> str | None:
    """What most graphs have."""
    most = Counter(width for width in widths if width is not None).most_common(1)
    return most[0][0] if most else None


def _numeric(targets: Iterable[Mapping[str, Any]]) -> set[str]:
    """The targets of which at least half of the values are numbers."""
    given = [(key, isinstance(value, str)) for one in targets for key, value in one.items() if value is not None]
    words = Counter(key for key, word in given if word)
    return {key for key, count in Counter(key for key, _ in given).items() if 2 * words[key] <= count}


# JSON lines


def read_json_lines(path: str | Path, name: str | None = None, *, task: Task | None = None) -> Dataset:
    """Read graphs from a file with one JSON object per line, also with ``.gz``."""
    texts = (row.cells[0] for row in lines_table(path).rows())
    return _dataset(((text, text) for text in texts), _from_json, name or name_of(path), str(path), task)


def read_lines(texts: Sequence[str], width: int | None = None) -> tuple[Dataset | None, list[tuple[int, str]]]:
    """The graphs in lines of JSON, without targets, and (position, reason) of lines that are not graphs.

    ``rows`` of the data set are the positions of its graphs among the lines. With a ``width``, features of another
    width are a reason.
    """

    def read(text: str) -> _Record:
        record = _from_json(text)
        shape = np.shape(record.features)[1:] if record.features else ()
        if width is not None and shape and shape != (width,):
            raise DataError(f"vertex features of shape {shape} where those of training have {width} columns")
        return replace(record, target=None, per="graph")

    data, dropped = _read_all(((text, text) for text in texts), read, "", "lines", "regression")
    if data is not None and data.rows is not None:
        data = replace(data, rows=data.rows - 1)
    return data, [(remark.row - 1, remark.reason) for remark in dropped]


def _from_json(text: str) -> _Record:
    if not text:
        raise DataError("empty row")
    try:
        one = json.loads(text)
    except ValueError as error:
        raise DataError(f"not JSON ({error})") from None
    if not isinstance(one, dict) or "edges" not in one:
        raise DataError("a line must be an object with the key 'edges'")
    plain = ("edges", "n", "features", "labels", "weights", "edge_features", "edge_labels")
    return _Record(
        **{key: one.get(key) for key in plain},
        target=next((one[key] for key in (*_OF_ITEMS, *_TARGET) if key in one), None),
        words={key: str(one[key]) for key in _WORDS if key in one},
        per=next((_OF_ITEMS[key] for key in _OF_ITEMS if key in one), "graph"),
    )


# NetworkX, in memory and in files


def _common(data: Sequence[dict[Any, Any]]) -> list[str]:
    """The attributes that are numbers in all of them."""
    named = [key for key in (data[0] if data else ()) if isinstance(key, str)]
    return sorted(key for key in named if all(isinstance(of.get(key), int | float) for of in data))


def _from_networkx(g: Any, columns: Sequence[str]) -> _Record:
    """A record of a NetworkX graph: vertex attribute ``x``, else ``label``, else the attributes named."""
    if g.is_multigraph():
        raise GraphError("a multigraph has repeated edges; convert it with networkx.Graph(g) first")
    if g.is_directed():
        raise GraphError("the graph is directed; convert it with to_undirected()")
    number = {v: i for i, v in enumerate(g.nodes)}
    of = [g.nodes[v] for v in g.nodes]
    edges = list(g.edges(data=True))
    features, labels = None, None
    if of and all("x" in d for d in of):
        features = [np.atleast_1d(d["x"]).tolist() for d in of]
    elif of and all("label" in d for d in of):
        labels = [d["label"] for d in of]
    elif columns:
        features = [[float(d[key]) for key in columns] for d in of]
    has = {key: bool(edges) and all(key in d for *_, d in edges) for key in ("weight", "edge_features", "label")}
    return _Record(
        edges=[(number[u], number[v]) for u, v, _ in edges],
        n=len(number),
        features=features,
        labels=labels,
        weights=[float(d["weight"]) for *_, d in edges] if has["weight"] else None,
        edge_features=[np.atleast_1d(d["edge_features"]).tolist() for *_, d in edges] if has["edge_features"] else None,
        edge_labels=[d["label"] for *_, d in edges] if has["label"] and not has["edge_features"] else None,
        target=next((g.graph[key] for key in _TARGET if key in g.graph), None),
    )


def _of_networkx(graphs: Iterable[tuple[str, Any]], name: str, where: str, task: Task | None) -> Dataset:
    """A data set of NetworkX graphs (or errors), each with its text for a remark."""
    listed = list(graphs)
    columns = _common([g.nodes[v] for _, g in listed if not isinstance(g, Exception) for v in g.nodes])

    def read(g: Any) -> _Record:
        if isinstance(g, CCNError):
            raise g
        return _from_networkx(g, columns)

    return _dataset(listed, read, name, where, task)


def graph_files(path: Path) -> list[Path]:
    """The GraphML and GML files behind a path, in order of their names."""
    if path.is_dir():
        return sorted(p for p in path.iterdir() if p.suffix.lower() in FOLDER_SUFFIXES)
    return [path]


def read_graphs(path: str | Path, name: str | None = None, *, task: Task | None = None) -> Dataset:
    """Read a folder of GraphML or GML files, or one of them; the target is the graph's attribute ``target``.

    Vertex features are the attribute ``x``, else ``label`` made one-hot, else all attributes that are numbers
    everywhere, else the constant 1.
    """
    import networkx as nx

    path = Path(path)
    files = graph_files(path)
    if not files:
        raise DataError(f"{path}: no data set in this folder; it needs a TU data set, or files in GraphML or GML")

    def read(file: Path) -> Any:
        reader: Callable[..., Any] = nx.read_graphml if file.suffix.lower() == ".graphml" else _read_gml
        try:
            return reader(file)
        except Exception as error:  # the parsers of the two formats raise errors of many kinds
            reason = next(iter(str(error).splitlines()), "")
            return DataError(f"cannot be read ({type(error).__name__}: {reason})")

    return _of_networkx(((file.name, read(file)) for file in files), name or path.stem, str(path), task)


def _read_gml(path: Path) -> Any:
    import networkx as nx

    g = nx.read_gml(path, label="id")
    # GML requires a label of every node; one that only repeats the number carries no information.
    if all(str(data.get("label")) == str(v) for v, data in g.nodes(data=True)):
        for _, data in g.nodes(data=True):
            del data["label"]
    return g


def from_objects(
    things: Iterable[Any], targets: Any = None, *, name: str = "graphs", task: Task | None = None
) -> Dataset:
    """A data set of graphs in memory: NetworkX graphs, a PyG data set, :class:`ccn.Graph` or SMILES.

    Targets are given, one value or row per graph, or come with the graphs: ``graph["target"]`` of NetworkX, ``y`` of
    PyG.

    Example:
        >>> import networkx as nx
        >>> data = from_objects([nx.cycle_graph(n) for n in (3, 4, 5)], [0.5, 1.5, 2.5])
        >>> len(data), data.targets.ravel().tolist()
        (3, [0.5, 1.5, 2.5])
    """
    listed = list(things)
    if listed and all(hasattr(g, "adjacency") and hasattr(g, "nodes") for g in listed):
        data = _of_networkx(((str(g), g) for g in listed), name, name, task)
        if data.dropped:
            raise DataError(f"{name}: {data.dropped[0].reason} (graph {data.dropped[0].row - 1})")
        if targets is None:
            return data
        pack = data.pack
    else:
        pack = Pack.of(listed, name)
        if targets is None and listed and all(getattr(g, "y", None) is not None for g in listed):
            targets = [np.asarray(g.y).reshape(-1) for g in listed]
    if targets is None:
        return Dataset(name, pack, np.zeros((len(pack), 0)), (), "regression")
    table = np.asarray(targets)
    table = table.reshape(len(table), -1)
    if len(table) != len(pack):
        raise DataError(f"{name}: {len(pack)} graphs, but targets of {len(table)}")
    names = ("target",) if table.shape[1] == 1 else tuple(_SEVERAL.format(i) for i in range(table.shape[1]))
    columns = [[_value(v) for v in column] for column in table.T.tolist()]
    values, found, classes = encode_targets(columns, names, len(table), task, name)
    return Dataset(name, pack, values, names, found, classes)

"""A data set: graphs and targets, with names, units, and remarks on the rows of the source: which were dropped and why,
and what was noted about those that were kept.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ccn.datasets.columns import Strings, Task
from ccn.errors import DataError
from ccn.files import write_atomically
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Ragged

if TYPE_CHECKING:
    import networkx

    from ccn.datasets.replicates import Replicates
    from ccn.graphs.graph import Graph

__all__ = [
    "ARRAYS",
    "CONTRADICTION",
    "NOT_A_NUMBER",
    "STRINGS",
    "Dataset",
    "Remark",
    "Statistics",
    "shorten",
    "summary",
    "write_rows",
]

STRINGS = ("smiles", "canonical", "ids", "groups", "splits")
"""The fields of a data set that hold one string per graph, or None."""
ARRAYS = ("targets", "bounds", "auxiliary", "weights", "rows")
"""The fields that are arrays with one row per graph, or None."""
NOT_A_NUMBER = "not a number in a target column"
CONTRADICTION = "duplicate with another target"
_SHOWN = 12  # classes or targets that a printed line names
_LONGEST = 200  # characters of a value that a report shows


@dataclass(frozen=True)
class Remark:
    """One remark on one row.

    Attributes:
        row: the row's number, counted from 1 without the header.
        value: the cell or the row.
        reason: what is wrong or unusual.

    Example:
        >>> print(Remark(row=7, value="C1CC", reason="not a SMILES"))
        row 7: not a SMILES ('C1CC')
    """

    row: int
    value: str
    reason: str

    @property
    def kind(self) -> str:
        """The reason without its details, by which remarks are counted."""
        return self.reason.split(":", 1)[0]

    def __str__(self) -> str:
        return f"row {self.row}: {self.reason} ({shorten(self.value)!r})"


def shorten(value: str) -> str:
    """A value as a report shows it."""
    return value if len(value) <= _LONGEST else f"{value[:_LONGEST]}..."


def summary(dropped: Sequence[Remark], noted: Sequence[Remark] = ()) -> str:
    """One line: how many rows were dropped or noted, and why."""

    def counted(remarks: Iterable[Remark]) -> str:
        return ", ".join(f"{count} {kind}" for kind, count in Counter(r.kind for r in remarks).most_common())

    rows = len({r.row for r in dropped})
    parts = [f"{rows} row{'s' * (rows > 1)} dropped: {counted(dropped)}"] if dropped else []
    parts += [f"kept but noted: {counted(noted)}"] if noted else []
    return "; ".join(parts) or "no row dropped"


@dataclass(frozen=True)
class Statistics:
    """The size and content of a data set; an undirected edge counts once.

    Example:
        >>> import ccn
        >>> found = ccn.datasets.load("MUTAG").statistics()
        >>> found.graphs, found.largest, found.classes
        (188, 28, {'-1': 63, '1': 125})
    """

    graphs: int
    vertices: int
    edges: int
    smallest: int
    largest: int
    vertex_features: int
    edge_features: int
    task: str
    targets: tuple[str, ...]
    classes: dict[str, int]

    @property
    def mean_vertices(self) -> float:
        return self.vertices / max(1, self.graphs)

    @property
    def mean_edges(self) -> float:
        return self.edges / max(1, self.graphs)


@dataclass(frozen=True, repr=False)
class Dataset:
    """Graphs with targets.

    Attributes:
        graphs: the graphs; whatever ccn reads is a :class:`ccn.Pack`.
        targets: (graphs, targets); NaN where missing. A class is its number in ``classes``. Targets of vertices or of
            edges are a :class:`ccn.graphs.ragged.Ragged`, a row for each.
        per: ``graph``, ``vertex`` or ``edge``: what has targets.
        classes: of classification; shared by all targets.
        units: one per target, or none.
        smiles, ids, groups, splits: one string per graph, as written in the source, or None.
        canonical: canonical SMILES of each molecule, or None.
        bounds: (graphs, targets, 2) the least and the largest value of targets that are known by a bound alone, such as
            >10; NaN for others. None without any. Such a target is missing in ``targets``, so that it is never taken
            for an exact value.
        auxiliary: (graphs, columns) numbers, or labels beside classes, that are learned with the targets and not
            predicted; NaN where missing. None without any.
        auxiliary_names: of these columns.
        weights: (graphs,) or None.
        rows: (graphs,) the row of the source behind each graph, from 1, or None.
        dropped, noted: remarks on rows that were left out, and on rows that were kept.
        vertex_names, edge_names: names of the columns of vertex and edge features, where known.
        replicates: the rows that were joined into one, if that was asked for (:mod:`ccn.datasets.replicates`).
        options: how it was read.
        note: printed with the data set.

    Example:
        >>> import ccn
        >>> data = ccn.datasets.load("MUTAG")
        >>> len(data), data.task, data.classes, data.subset(range(3)).targets.ravel().tolist()
        (188, 'classification', (-1, 1), [1.0, 0.0, 0.0])
    """

    name: str
    graphs: Sequence[Graph]
    targets: Any
    target_names: tuple[str, ...]
    task: Task
    classes: tuple[Any, ...] = ()
    units: tuple[str, ...] = ()
    smiles: Strings | None = None
    canonical: Strings | None = None
    ids: Strings | None = None
    groups: Strings | None = None
    splits: Strings | None = None
    bounds: NDArray[np.float64] | None = None
    auxiliary: NDArray[np.float64] | None = None
    auxiliary_names: tuple[str, ...] = ()
    weights: NDArray[np.float64] | None = None
    rows: NDArray[np.int64] | None = None
    dropped: tuple[Remark, ...] = ()
    noted: tuple[Remark, ...] = ()
    vertex_names: tuple[str, ...] = ()
    edge_names: tuple[str, ...] = ()
    replicates: Replicates | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    per: Literal["graph", "vertex", "edge"] = "graph"

    def __len__(self) -> int:
        return len(self.graphs)

    def __getitem__(self, i: int) -> tuple[Graph, NDArray[np.float64]]:
        return self.graphs[i], self.targets[[i]] if isinstance(self.targets, Ragged) else self.targets[i]

    @property
    def pack(self) -> Pack:
        """The graphs as a :class:`ccn.Pack`."""
        return self.graphs if isinstance(self.graphs, Pack) else Pack.of(self.graphs, self.name)

    def subset(self, indices: ArrayLike) -> Dataset:
        """The data set with the chosen graphs only, in that order; the arrays of the graphs are shared."""
        chosen = np.asarray(indices)
        chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen.astype(np.int64)
        strings = {name: value.select(chosen) for name in STRINGS if (value := getattr(self, name)) is not None}
        arrays: dict[str, Any] = {
            name: value.select(chosen) if isinstance(value, Ragged) else value[chosen]
            for name in ARRAYS
            if (value := getattr(self, name)) is not None
        }
        return replace(self, graphs=self.pack.select(chosen), **strings, **arrays)

    def with_targets(self, names: Iterable[str]) -> Dataset:
        """The data set with the named targets only, in that order."""
        names = (names,) if isinstance(names, str) else tuple(names)
        missing = [name for name in names if name not in self.target_names]
        if missing:
            raise DataError(f"{self.name} has no target {missing[0]!r}; it has {', '.join(self.target_names)}")
        columns = [self.target_names.index(name) for name in names]
        units = tuple(self.units[c] for c in columns) if self.units else ()
        bounds = None if self.bounds is None else self.bounds[:, columns]
        own = self.targets
        targets = own.columns(columns) if isinstance(own, Ragged) else own[:, columns]
        return replace(self, targets=targets, bounds=bounds, target_names=names, units=units)

    def statistics(self) -> Statistics:
        """Counts of graphs, vertices and edges, and how often each class occurs over all targets."""
        pack, classes = self.pack, {}
        sizes = pack.sizes
        if self.task == "classification":
            values = np.asarray(self.targets)
            known = values[~np.isnan(values)].astype(np.int64)
            counts = np.bincount(known, minlength=len(self.classes))
            classes = {str(c): int(k) for c, k in zip(self.classes, counts, strict=True)}
        return Statistics(
            graphs=len(pack),
            vertices=int(sizes.sum()),
            edges=int(pack.edge_counts.sum()),
            smallest=int(sizes.min()) if len(pack) else 0,
            largest=int(sizes.max(initial=0)),
            vertex_features=pack.width,
            edge_features=pack.edge_width,
            task=self.task,
            targets=self.target_names,
            classes=classes,
        )

    def __repr__(self) -> str:
        s = self.statistics()
        of = ("graphs", "vertices", "edges") if self.smiles is None else ("molecules", "atoms", "bonds")
        means = f"{s.mean_vertices:.2f} {of[1]} and {s.mean_edges:.2f} {of[2]} on average"
        out = f"{self.name}: {s.graphs} {of[0]}, {means}"
        if self.task == "classification" and len(self.target_names) == 1:
            out += f", classes {_some(f'{c}: {k}' for c, k in s.classes.items())}"
        elif self.target_names:
            units = self.units or ("",) * len(self.target_names)
            named = [f"{t} ({u})" if u else t for t, u in zip(self.target_names, units, strict=True)]
            out += f", {'classes of' if self.task == 'classification' else 'targets'} {_some(named)}"
        if self.per != "graph":
            out += f" of {'vertices' if self.per == 'vertex' else 'edges'}"
        if self.note:
            out += f"; {self.note}"
        if self.dropped or self.noted:
            out += f"; {summary(self.dropped, self.noted)}"
        return out

    def write_dropped(self, path: str | Path) -> Path:
        """Write the remarks on rows as a CSV: row, value, reason, and whether the row was dropped or kept."""
        lines = [(r, "dropped") for r in self.dropped] + [(r, "kept") for r in self.noted]
        lines.sort(key=lambda line: line[0].row)
        write_rows(
            Path(path),
            ["row", "value", "reason", "action"],
            [[remark.row, shorten(remark.value), remark.reason, action] for remark, action in lines],
        )
        return Path(path)

    def to_pyg(self) -> list[Any]:
        """One PyG ``Data`` per graph, with features in torch's default dtype and targets ``y`` (1, targets).

        Needs the extra ``compare``.
        """
        import torch

        from ccn.graphs.exchange import to_pyg

        out = [to_pyg(graph) for graph in self.graphs]
        for i, data in enumerate(out):
            data.y = torch.from_numpy(self.targets[[i]])
            for name in ("x", "edge_attr", "y"):
                if getattr(data, name, None) is not None:
                    data[name] = data[name].to(torch.get_default_dtype())
        return out

    def to_networkx(self) -> list[networkx.Graph]:
        """One NetworkX graph per graph, with its targets by name in ``graph.graph``."""
        from ccn.graphs.exchange import to_networkx

        out = [to_networkx(graph) for graph in self.graphs]
        for i, graph in enumerate(out):
            columns = self.targets[[i]].T.tolist()
            values = columns if self.per != "graph" else [column[0] for column in columns]
            graph.graph.update(zip(self.target_names, values, strict=True))
        return out


def write_rows(path: Path, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write rows as a CSV."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows([head, *rows])
    write_atomically(path, text.getvalue().encode())


def _some(names: Iterable[str]) -> str:
    """The names, or the first few and how many there are."""
    listed = list(names)
    return ", ".join(listed[:_SHOWN]) + (f", .. ({len(listed)} in all)" if len(listed) > _SHOWN else "")

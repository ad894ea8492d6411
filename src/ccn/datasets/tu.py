"""The TU text format: one set of graphs in a few files, in a folder or a zip.

``DS_A.txt`` lists the nonzero places of all adjacency matrices, ``DS_graph_indicator.txt`` the graph of
each vertex, ``DS_graph_labels.txt`` the class of each graph, ``DS_node_labels.txt`` and
``DS_edge_labels.txt`` (optional) the labels. Everything counts from 1.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from ccn.datasets.dataset import Dataset
from ccn.errors import CCNError
from ccn.graph import Graph

__all__ = ["read_tu"]


def _texts(path: Path) -> dict[str, str]:
    """The text files by what follows the data set's name: ``A``, ``graph_labels``, .."""
    if path.is_dir():
        files = {f.name: f.read_text() for f in path.glob("*.txt")}
    else:
        try:
            with zipfile.ZipFile(path) as z:
                files = {Path(name).name: z.read(name).decode() for name in z.namelist() if name.endswith(".txt")}
        except (OSError, zipfile.BadZipFile) as error:
            raise CCNError(f"{path}: cannot be read as a zip of a TU data set ({error})") from None
    names = [name.removesuffix("_A.txt") for name in files if name.endswith("_A.txt")]
    if len(names) != 1:
        raise CCNError(f"{path}: a TU data set has one file that ends in _A.txt, found {len(names)}")
    prefix = names[0] + "_"
    return {
        name.removeprefix(prefix).removesuffix(".txt"): text for name, text in files.items() if name.startswith(prefix)
    }


def _table(text: str) -> NDArray[np.int64]:
    return np.loadtxt(io.StringIO(text), delimiter=",", dtype=np.int64, ndmin=2)


def _one_hot(labels: NDArray[np.int64]) -> torch.Tensor:
    """One column per distinct label, in increasing order."""
    values, index = np.unique(labels, return_inverse=True)
    return torch.nn.functional.one_hot(torch.from_numpy(index.reshape(-1)), len(values)).float()


def read_tu(path: Path, name: str) -> Dataset:
    """Read a data set of graph classification; vertex and edge labels become one-hot features."""
    texts = _texts(path)
    missing = [need for need in ("graph_indicator", "graph_labels") if need not in texts]
    if missing:
        raise CCNError(f"{path}: the file that ends in _{missing[0]}.txt is missing")
    places = _table(texts["A"]) - 1
    graph_of = _table(texts["graph_indicator"])[:, 0] - 1
    labels = _table(texts["graph_labels"])[:, 0]
    n = len(labels)
    features = _one_hot(_table(texts["node_labels"])[:, 0]) if "node_labels" in texts else torch.ones(len(graph_of), 1)
    edge_features = _one_hot(_table(texts["edge_labels"])[:, 0]) if "edge_labels" in texts else None
    start = np.searchsorted(graph_of, np.arange(n + 1))
    order = np.argsort(graph_of[places[:, 0]], kind="stable")
    cut = np.searchsorted(graph_of[places[order, 0]], np.arange(n + 1))
    graphs = []
    for i in range(n):
        rows = order[cut[i] : cut[i + 1]]
        graphs.append(
            Graph(
                places[rows] - start[i],
                features[start[i] : start[i + 1]],
                edge_features=None if edge_features is None else edge_features[torch.from_numpy(rows)],
                name=f"{name}[{i}]",
            )
        )
    classes, targets = np.unique(labels, return_inverse=True)
    return Dataset(
        name, graphs, targets.astype(np.float64)[:, None], ("class",), "classification", tuple(classes.tolist())
    )

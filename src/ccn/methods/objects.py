"""Fitted scikit-learn objects in files, through skops, with an explicit list of what may be in them."""

from __future__ import annotations

from io import BytesIO
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np
import torch
from torch import Tensor

from ccn.errors import DependencyError, FileError

__all__ = ["TRUSTED", "from_tensor", "need_skops", "to_tensor"]

TRUSTED = ("sklearn.tree._tree.Tree",)
"""Types beyond those that skops itself takes to be safe, which fitted objects of this package consist of.

A tree is compiled code over arrays and believes what they say, hence :func:`_check_trees`.
"""


def need_skops() -> Any:
    """The reader and writer of skops, or an error that says how to install it."""
    try:
        import skops.io
    except ImportError:
        raise DependencyError("files of scikit-learn methods need skops: pip install 'ccn[baselines]'") from None
    return skops.io


def to_tensor(thing: Any) -> Tensor:
    """A fitted object as the bytes of a file of skops."""
    return torch.from_numpy(np.frombuffer(need_skops().dumps(thing), dtype=np.uint8).copy())


def from_tensor(held: Tensor) -> Any:
    """The object; an error names what it holds that is not trusted."""
    io, content = need_skops(), held.numpy().tobytes()
    _check_sizes(content)
    strange = sorted(set(io.get_untrusted_types(data=content)) - set(TRUSTED))
    if strange:
        raise FileError(
            f"the file holds objects of the type {strange[0]}, which no method of ccn writes; do not use it"
        )
    made = io.loads(content, trusted=list(TRUSTED))
    _check_trees(made)
    return made


def _check_sizes(content: bytes) -> None:
    """An error unless the entries of the archive are within its size: skops stores them uncompressed."""
    try:
        with ZipFile(BytesIO(content)) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    except (BadZipFile, NotImplementedError, ValueError) as error:
        raise FileError(f"the file holds an object that skops did not write ({error}); do not use it") from None
    if size > len(content):
        raise FileError(
            f"the file holds an archive of {len(content):,} bytes that would expand to {size:,}; do not use it"
        )


def _check_trees(model: Any) -> None:
    """An error unless every tree leads from its nodes to later nodes, and asks for features that there are."""
    for part in np.ravel(getattr(model, "estimators_", [])):
        tree = part.tree_
        inner = np.flatnonzero(tree.children_left != -1)
        for child in (tree.children_left[inner], tree.children_right[inner]):
            if not ((child > inner) & (child < tree.node_count)).all():
                raise FileError("the file holds a tree whose branches lead nowhere: it was altered; do not use it")
        feature = tree.feature[inner]
        if not ((feature >= 0) & (feature < model.n_features_in_)).all() or tree.n_features != model.n_features_in_:
            raise FileError("the file holds a tree that asks for features that do not exist; do not use it")

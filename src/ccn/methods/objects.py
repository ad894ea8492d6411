"""Fitted scikit-learn objects in files, through skops, with an explicit list of what may be in them."""

from __future__ import annotations

from collections.abc import Collection
from io import BytesIO
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np
import torch
from torch import Tensor

from ccn.errors import FileError, needs

__all__ = ["TRUSTED", "check_kind", "from_tensor", "need_skops", "to_tensor"]

TRUSTED = ("sklearn.tree._tree.Tree",)
"""Types beyond those that skops itself takes to be safe, which fitted objects of this package consist of.

A tree is compiled code over arrays and believes what they say, hence :func:`_check_trees`.
"""


def need_skops() -> Any:
    """The reader and writer of skops, or an error that says how to install it."""
    with needs("a file of a scikit-learn method", "baselines"):
        import skops.io
    return skops.io


def to_tensor(thing: Any) -> Tensor:
    """A fitted object as the bytes of a file of skops."""
    return torch.from_numpy(np.frombuffer(need_skops().dumps(thing), dtype=np.uint8).copy())


def from_tensor(held: Tensor, kinds: Collection[str]) -> Any:
    """The object, of one of these classes of scikit-learn; an error names what it holds that is not trusted."""
    io, content = need_skops(), held.numpy().tobytes()
    _check_sizes(content)
    strange = sorted(set(io.get_untrusted_types(data=content)) - set(TRUSTED))
    if strange:
        raise FileError(
            f"the file holds objects of the type {strange[0]}, which no method of ccn writes; do not use it"
        )
    made = io.loads(content, trusted=list(TRUSTED))
    check_kind(made, kinds)
    if hasattr(made, "estimators_"):
        _check_trees(made)
    elif hasattr(made, "support_"):
        _check_machine(made)
    return made


def check_kind(made: Any, kinds: Collection[str]) -> None:
    """An error unless an object from a file is of one of these classes."""
    if type(made).__name__ not in kinds:
        raise FileError(f"the file holds a {type(made).__name__} in place of a {' or '.join(kinds)}; do not use it")


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
    trees = np.asarray(model.estimators_, dtype=object)
    if trees.ndim == 2:  # boosting adds up trees in compiled code, one column for each class if there are more than two
        classes = len(getattr(model, "classes_", ()))
        check_kind(model.init_, ("DummyClassifier", "DummyRegressor"))
        first = model.init_.class_prior_ if classes else model.init_.constant_
        if trees.shape[1] != (classes if classes > 2 else 1) or np.size(first) != max(1, classes):
            raise FileError("the file holds trees of other classes: it was altered; do not use it")
    for part in np.ravel(trees):
        check_kind(part, ("DecisionTreeClassifier", "DecisionTreeRegressor"))
        tree = part.tree_
        if trees.ndim == 2 and tree.value.shape != (tree.node_count, 1, 1):
            raise FileError("the file holds trees with several values: it was altered; do not use it")
        inner = np.flatnonzero(tree.children_left != -1)
        for child in (tree.children_left[inner], tree.children_right[inner]):
            if not ((child > inner) & (child < tree.node_count)).all():
                raise FileError("the file holds a tree whose branches lead nowhere: it was altered; do not use it")
        feature = tree.feature[inner]
        if not ((feature >= 0) & (feature < model.n_features_in_)).all() or tree.n_features != model.n_features_in_:
            raise FileError("the file holds a tree that asks for features that do not exist; do not use it")


def _check_machine(svm: Any) -> None:
    """An error unless the arrays of a support vector machine fit each other: compiled code believes them."""
    support, per_class, many = svm.support_, svm._n_support, len(svm.support_)
    classes = len(svm.classes_) if hasattr(svm, "classes_") else 2
    rows = svm.shape_fit_[0]
    good = (
        (svm.kernel, svm._sparse, svm.n_features_in_) == ("precomputed", False, rows)
        and (support.dtype, support.shape) == (np.int32, (many,))
        and ((support >= 0) & (support < rows)).all()
        and (per_class.dtype, per_class.shape) == (np.int32, (classes,))
        and (not hasattr(svm, "classes_") or ((per_class >= 0).all() and per_class.sum() == many))
        and (svm._dual_coef_.dtype, svm._dual_coef_.shape) == (np.float64, (classes - 1, many))
        and (svm._intercept_.dtype, svm._intercept_.shape) == (np.float64, (classes * (classes - 1) // 2,))
    )
    if not good:
        raise FileError("the file holds a support vector machine whose parts do not fit: it was altered; do not use it")

"""The errors of ccn: one base and its few kinds.

Every message says what is wrong, where, and what to do about it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = [
    "CCNError",
    "ConfigurationError",
    "DataError",
    "DependencyError",
    "FileError",
    "GraphError",
    "SchemeError",
    "TrainingError",
    "needs",
]


class CCNError(ValueError):
    """Base of every error that ccn raises about its input.

    Example:
        >>> import ccn
        >>> try:
        ...     ccn.Graph.from_smiles("C1CC")
        ... except ccn.CCNError as error:
        ...     print("refused:", type(error).__name__)
        refused: GraphError
    """


class GraphError(CCNError):
    """A graph, or a batch of graphs, that breaks the rules; names the graph and the place.

    Example:
        >>> import ccn
        >>> ccn.Graph([(0, 5)], n=2)  # doctest: +IGNORE_EXCEPTION_DETAIL
        Traceback (most recent call last):
            ...
        ccn.errors.GraphError: ...
    """


class SchemeError(CCNError):
    """A composition scheme that breaks one of its rules; names the rule and the node.

    Example:
        >>> import ccn
        >>> ccn.Scheme(parts=[(0,), (1,)], children=[(), ()])  # doctest: +IGNORE_EXCEPTION_DETAIL
        Traceback (most recent call last):
            ...
        ccn.errors.SchemeError: ...
    """


class ConfigurationError(CCNError):
    """Settings that do not fit each other or the data; names the argument.

    Example:
        >>> import ccn
        >>> ccn.CCN(in_features=1, out_features=1, order=-1)  # doctest: +IGNORE_EXCEPTION_DETAIL
        Traceback (most recent call last):
            ...
        ccn.errors.ConfigurationError: ...
    """


class DataError(CCNError):
    """A file or a data set that cannot be read or is not at hand; names the file and the row.

    Example:
        >>> import ccn
        >>> ccn.datasets.load("no-such-file.csv")  # doctest: +IGNORE_EXCEPTION_DETAIL
        Traceback (most recent call last):
            ...
        ccn.errors.DataError: ...
    """


class DependencyError(CCNError, ImportError):
    """An optional package is needed and not installed; names the extra that brings it.

    Example:
        >>> issubclass(DependencyError, ImportError)
        True
    """


class TrainingError(CCNError):
    """A training run that cannot go on; says where it stopped and what is left of it.

    Example:
        >>> import ccn
        >>> smiles = ["C" * n for n in range(1, 11)]
        >>> net = ccn.CCNRegressor(epochs=2, learning_rate=1e30, random_state=0)
        >>> net.fit(smiles, range(10))  # doctest: +IGNORE_EXCEPTION_DETAIL
        Traceback (most recent call last):
            ...
        ccn.errors.TrainingError: ...
    """


class FileError(CCNError):
    """A file that is broken, altered or of another kind; names the file.

    Example:
        >>> import ccn
        >>> with open("text.safetensors", "w") as file:
        ...     _ = file.write("not a model")
        >>> ccn.CCNRegressor.load("text.safetensors")  # doctest: +IGNORE_EXCEPTION_DETAIL
        Traceback (most recent call last):
            ...
        ccn.errors.FileError: ...
    """


@contextmanager
def needs(what: str, extra: str) -> Iterator[None]:
    """For imports of packages of an extra: where one is not installed, a :class:`DependencyError` that names the extra.

    Example:
        >>> with needs("ccn tune", "tune"):  # doctest: +IGNORE_EXCEPTION_DETAIL
        ...     import no_such_package
        Traceback (most recent call last):
            ...
        ccn.errors.DependencyError: ccn tune needs no_such_package: pip install 'ccn[tune]'
    """
    try:
        yield
    except ImportError as error:
        package = (error.name or "more packages").partition(".")[0]
        why = "" if isinstance(error, ModuleNotFoundError) else f" ({error})"  # it is there, and broken or old
        raise DependencyError(f"{what} needs {package}{why}: pip install 'ccn[{extra}]'") from None

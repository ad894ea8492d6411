"""The errors of ccn: one base and its few kinds.

Every message says what is wrong, where, and what to do about it.
"""

from __future__ import annotations

__all__ = [
    "CCNError",
    "ConfigurationError",
    "DataError",
    "DependencyError",
    "FileError",
    "GraphError",
    "SchemeError",
    "TrainingError",
]


class CCNError(ValueError):
    """Base of every error that ccn raises about its input."""


class GraphError(CCNError):
    """A graph, or a batch of graphs, that breaks the rules; names the graph and the place."""


class SchemeError(CCNError):
    """A composition scheme that breaks one of its rules; names the rule and the node."""


class ConfigurationError(CCNError):
    """Settings that do not fit each other or the data; names the argument."""


class DataError(CCNError):
    """A file or a data set that cannot be read or is not at hand; names the file and the row."""


class DependencyError(CCNError, ImportError):
    """An optional package is needed and not installed; names the extra that brings it."""


class TrainingError(CCNError):
    """A training run that cannot go on; says where it stopped and what is left of it."""


class FileError(CCNError):
    """A file that is broken, altered or of another kind; names the file."""

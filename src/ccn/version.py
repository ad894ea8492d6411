"""The version of the package; files that it writes carry it."""

__version__ = "0.1.0"

"""The version of the package; files that it writes carry it."""

__version__ = "1.0.0"

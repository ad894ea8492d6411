"""Data sets: those of the paper by name, and whatever is in a table of molecules or graphs by its path.

Owns reading, cleaning, storing and splitting. Imports features, schemes and the rooms before them; no torch before a
graph is made.
"""

from __future__ import annotations

from ccn.datasets import splits
from ccn.datasets.dataset import Dataset, Remark, Statistics
from ccn.datasets.graphs import from_objects
from ccn.datasets.loading import load, options_of
from ccn.datasets.tu import read_tu

__all__ = ["Dataset", "Remark", "Statistics", "from_objects", "load", "options_of", "read_tu", "splits"]

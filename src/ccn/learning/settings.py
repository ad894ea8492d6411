"""Settings of what is learned and from what: declared here once, for recipes, methods and the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ccn.settings import Checked, setting

__all__ = ["Features", "Loss"]

Loss = Literal["mse", "mae", "huber"]
"""Regression losses."""


@dataclass(frozen=True)
class Features(Checked):
    """Features of vertices and edges; see :mod:`ccn.chemistry.properties` and :mod:`ccn.features.vertices`."""

    molecules: str = setting(
        "atoms",
        "Atom and bond features: full, compact, atoms or element; for methods that read the molecule as a whole also "
        "+morgan, +avalon, +erg, +descriptors.",
        flags=("--features", "--molecules"),
    )
    hydrogens: bool = setting(False, "Represent hydrogens as vertices.")
    vertices: Any = setting(
        "given", "Vertex features: auto, given (unchanged), histograms, labels, degree or constant."
    )

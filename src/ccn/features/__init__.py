"""Features of molecules, of labelled graphs and of graphs without labels; scaling of targets.

Owns the definitions of vertex features, which are fitted on training graphs. Imports graphs and chemistry.
"""

from __future__ import annotations

from ccn.chemistry.properties import MoleculeFeatures, Property, molecule_features
from ccn.features.scaling import TargetScale
from ccn.features.vertices import (
    Constant,
    Degree,
    Given,
    Histograms,
    Labels,
    VertexFeatures,
    histogram_features,
    vertex_features,
)

__all__ = [
    "Constant",
    "Degree",
    "Given",
    "Histograms",
    "Labels",
    "MoleculeFeatures",
    "Property",
    "TargetScale",
    "VertexFeatures",
    "histogram_features",
    "molecule_features",
    "vertex_features",
]

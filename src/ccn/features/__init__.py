"""What vertices and edges carry: features of molecules, of labelled graphs and of bare ones; scales of targets."""

from __future__ import annotations

from ccn.chemistry.properties import MoleculeFeatures, Property, molecule_features
from ccn.features.histograms import Histograms, histogram_features
from ccn.features.scaling import TargetScale
from ccn.features.vertices import Constant, Degree, Given, Labels, VertexFeatures, vertex_features

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

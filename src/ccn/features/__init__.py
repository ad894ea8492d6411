"""What vertices and edges carry: features of molecules, of labelled graphs and of bare ones; scales of targets."""

from __future__ import annotations

from ccn.features.molecules import MoleculeFeatures, Property, molecule_features

__all__ = ["MoleculeFeatures", "Property", "molecule_features"]

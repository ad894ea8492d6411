"""Covariant layers: aggregation, its initialisation and normalisation, and the activations that flow between them.

Imports the engine, schemes and the algebra.
"""

from ccn.layers.aggregation import NONLINEARITIES, Activation, Aggregation, list_maps

__all__ = ["NONLINEARITIES", "Activation", "Aggregation", "list_maps"]

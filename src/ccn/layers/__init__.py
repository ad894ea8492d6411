"""Covariant layers: aggregation, its initialisation, and the activations that flow between them."""

from ccn.layers.activation import Activation
from ccn.layers.aggregation import NONLINEARITIES, Aggregation, list_maps

__all__ = ["NONLINEARITIES", "Activation", "Aggregation", "list_maps"]

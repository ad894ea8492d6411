"""Covariant layers: aggregation, its initialisation and normalisation, and the activations that flow between them.

Imports the engine, schemes and the algebra.

>>> from ccn.layers import NONLINEARITIES
>>> sorted(NONLINEARITIES)[:2]
['elu', 'gelu']
"""

from ccn.layers.aggregation import NONLINEARITIES, Activation, Aggregation, list_maps
from ccn.layers.normalisation import RobustScale

__all__ = ["NONLINEARITIES", "Activation", "Aggregation", "RobustScale", "list_maps"]

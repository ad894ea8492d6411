"""The packed engine: a plan of a layer's contractions, and the forms that run it on a batch.

Imports schemes, graphs and the algebra. A form is chosen in :mod:`ccn.engine.backend` and nowhere else.
"""

from ccn.engine.aggregate import aggregate, invariants
from ccn.engine.backend import using_backend
from ccn.engine.matrices import Matrices
from ccn.engine.plan import Plan, plan

__all__ = ["Matrices", "Plan", "aggregate", "invariants", "plan", "using_backend"]

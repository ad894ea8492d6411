"""The packed engine: contraction plans, their index maps on a batch, and the aggregation itself."""

from ccn.engine.aggregate import aggregate
from ccn.engine.invariants import invariants
from ccn.engine.maps import Maps, build_maps
from ccn.engine.matrices import Matrices
from ccn.engine.plan import Plan, plan

__all__ = ["Maps", "Matrices", "Plan", "aggregate", "build_maps", "invariants", "plan"]

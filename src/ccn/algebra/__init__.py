"""P-tensors without graphs: set partitions, contractions, the tensor operations, promotion."""

from ccn.algebra.contractions import (
    PRESETS,
    Contraction,
    MatrixClass,
    Source,
    contractions,
    distinct,
    preset,
    reduce,
)
from ccn.algebra.equivariant import EquivariantMap, equivariant_maps
from ccn.algebra.partitions import bell, set_partitions

__all__ = [
    "PRESETS",
    "Contraction",
    "EquivariantMap",
    "MatrixClass",
    "Source",
    "bell",
    "contractions",
    "distinct",
    "equivariant_maps",
    "preset",
    "reduce",
    "set_partitions",
]

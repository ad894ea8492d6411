"""P-tensors without graphs: set partitions, contractions that print as their einsum, promotion and stacking.

Imports errors alone; torch only when a tensor operation is asked for.
"""

from ccn.algebra.contractions import (
    PRESETS,
    Contraction,
    EquivariantMap,
    MatrixClass,
    Source,
    bell,
    contractions,
    distinct,
    equivariant_maps,
    preset,
    reduce,
    set_partitions,
)

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

"""P-tensors without graphs: set partitions, contractions that print as their einsum, promotion and stacking.

Imports errors alone; torch only when a tensor operation is asked for.

>>> from ccn.algebra import PRESETS, preset
>>> PRESETS, len(preset("distinct", 5, 2, "TA"))
(('distinct', 'all', 'paper10', 'authors18', 'complete'), 26)

>>> from typing import get_args
>>> from ccn.algebra import Source
>>> "TA" in get_args(Source)
True
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

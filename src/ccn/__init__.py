"""Covariant compositional networks for learning from graphs and molecules.

>>> import ccn
>>> net = ccn.CCN(in_features=1, out_features=1, order=2, levels=2, channels=8)
>>> net([ccn.Graph(edges=[(0, 1), (1, 2)], n=3)]).shape
torch.Size([1, 1])
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Public names and where they live; each is imported when first used, so that `import ccn` is quick.
_HOME = {
    "Batch": "ccn.graph",
    "CCN": "ccn.models",
    "CCNClassifier": "ccn.estimators",
    "CCNError": "ccn.errors",
    "CCNRegressor": "ccn.estimators",
    "Contraction": "ccn.algebra.contractions",
    "Graph": "ccn.graph",
    "MatrixClass": "ccn.algebra.contractions",
    "Pack": "ccn.pack",
    "Scheme": "ccn.schemes.scheme",
    "as_graph": "ccn.graph",
    "batch": "ccn.graph",
    "contractions": "ccn.algebra.contractions",
}
__all__ = [
    "CCN",
    "Batch",
    "CCNClassifier",
    "CCNError",
    "CCNRegressor",
    "Contraction",
    "Graph",
    "MatrixClass",
    "Pack",
    "Scheme",
    "__version__",
    "adjacency",
    "algebra",
    "as_graph",
    "baselines",
    "batch",
    "contractions",
    "datasets",
    "engine",
    "errors",
    "features",
    "interop",
    "layers",
    "models",
    "reference",
    "schemes",
    "testing",
    "training",
    "uncertainty",
]

if TYPE_CHECKING:
    from ccn import (
        adjacency,
        algebra,
        baselines,
        datasets,
        engine,
        errors,
        features,
        interop,
        layers,
        models,
        reference,
        schemes,
        testing,
    )
    from ccn.algebra.contractions import Contraction, MatrixClass, contractions
    from ccn.errors import CCNError
    from ccn.estimators import CCNClassifier, CCNRegressor
    from ccn.graph import Batch, Graph, as_graph, batch
    from ccn.models import CCN
    from ccn.pack import Pack
    from ccn.schemes.scheme import Scheme


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in __all__:
        value = import_module(f"ccn.{name}")
    else:
        raise AttributeError(f"module 'ccn' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

"""Covariant compositional networks for learning from graphs and molecules.

>>> import ccn
>>> net = ccn.CCN(in_features=1, out_features=1, order=2, levels=2, channels=8)
>>> net([ccn.Graph(edges=[(0, 1), (1, 2)], n=3)]).shape
torch.Size([1, 1])
>>> int(ccn.__version__.split(".")[0]) >= 1
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ccn.version import __version__

# Public names and where they live; each is imported when first used, so that `import ccn` is quick.
_NAMES = {
    "Batch": "ccn.graphs.graph",
    "CCN": "ccn.models",
    "CCNClassifier": "ccn.estimators",
    "CCNError": "ccn.errors",
    "CCNRegressor": "ccn.estimators",
    "Contraction": "ccn.algebra.contractions",
    "Graph": "ccn.graphs.graph",
    "MatrixClass": "ccn.algebra.contractions",
    "Pack": "ccn.graphs.pack",
    "Scheme": "ccn.schemes.scheme",
    "as_graph": "ccn.graphs.graph",
    "batch": "ccn.graphs.graph",
    "contractions": "ccn.algebra.contractions",
}
_MODULES = {
    "adjacency": "ccn.graphs.adjacency",
    "algebra": "ccn.algebra",
    "baselines": "ccn.baselines",
    "datasets": "ccn.datasets",
    "engine": "ccn.engine",
    "errors": "ccn.errors",
    "explain": "ccn.explain",
    "expressivity": "ccn.expressivity",
    "features": "ccn.features",
    "interop": "ccn.graphs.exchange",
    "layers": "ccn.layers",
    "learning": "ccn.learning",
    "methods": "ccn.methods",
    "models": "ccn.models",
    "reference": "ccn.reference",
    "schemes": "ccn.schemes",
    "testing": "ccn.testing",
    "training": "ccn.training",
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
    "explain",
    "expressivity",
    "features",
    "interop",
    "layers",
    "learning",
    "methods",
    "models",
    "reference",
    "schemes",
    "testing",
    "training",
]

if TYPE_CHECKING:
    from ccn import (
        algebra,
        datasets,
        engine,
        errors,
        explain,
        expressivity,
        features,
        layers,
        learning,
        methods,
        models,
        reference,
        schemes,
        testing,
        training,
    )
    from ccn.algebra.contractions import Contraction, MatrixClass, contractions
    from ccn.errors import CCNError
    from ccn.estimators import CCNClassifier, CCNRegressor
    from ccn.graphs import adjacency
    from ccn.graphs import exchange as interop
    from ccn.graphs.graph import Batch, Graph, as_graph, batch
    from ccn.graphs.pack import Pack
    from ccn.models import CCN
    from ccn.schemes.scheme import Scheme


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        value = getattr(import_module(_NAMES[name]), name)
    elif name in _MODULES:
        value = import_module(_MODULES[name])
    else:
        raise AttributeError(f"module 'ccn' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

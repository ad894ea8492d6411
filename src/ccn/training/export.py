"""Export to ``torch.export``, as far as the operators allow, checked against the original.

A composition scheme is made from each graph by array code outside torch, so that a whole network cannot be
exported for graphs not known yet. What can be is exported here: the head, from the invariant embedding of
any number of graphs (:meth:`ccn.CCN.embed`) to the outputs; and the network for graphs of a fixed structure,
from their vertex features to the outputs, which is what a sensor net or one molecule under study needs.
Either program is saved with ``torch.export.save``, runs without ccn, and may be handed on to ``torch.onnx``.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ccn.errors import ConfigurationError
from ccn.graph import batch
from ccn.models import CCN

__all__ = ["export_head", "export_network"]


def export_head(net: CCN) -> torch.export.ExportedProgram:
    """From embeddings (graphs, width), graphs at will, to outputs (graphs, out_features)."""
    weight = net.embedding.weight
    rows = torch.rand(3, sum(net.readout_widths), dtype=weight.dtype, device=weight.device)
    return _checked(net.head, rows, ({0: torch.export.Dim("graphs")},))


def export_network(net: CCN, graphs: Any) -> torch.export.ExportedProgram:
    """From vertex features (vertices, in_features) of graphs with this very structure to outputs.

    Edge weights and edge features are those of the graphs given.
    """
    b = batch(graphs)

    class Fixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = net

        def forward(self, features: Tensor) -> Tensor:
            own = b.to(features.device)
            own.features = features
            out: Tensor = self.net(own)
            return out

    return _checked(Fixed(), b.features.to(net.embedding.weight.dtype), None)


def _checked(module: nn.Module, example: Tensor, dynamic: Any) -> torch.export.ExportedProgram:
    """The exported program, once it has given what the module gives."""
    was = module.training
    module.eval()
    try:
        with torch.no_grad():
            module(example)  # index maps are made now, not while torch follows
            made = torch.export.export(module, (example,), dynamic_shapes=dynamic)
            other = torch.rand_like(example)
            same = torch.allclose(made.module()(other), module(other), rtol=1e-5, atol=1e-6)
    except Exception as error:
        raise ConfigurationError(
            f"torch.export cannot follow this network ({str(error).splitlines()[0]}); keep it as a model file"
        ) from error
    finally:
        module.train(was)
    if not same:
        raise ConfigurationError("the exported program differs from the network; keep it as a model file")
    return made

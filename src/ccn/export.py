"""Export to ``torch.export`` and ONNX, as far as the operators allow, checked against the original.

A composition scheme is made from each graph by array code outside torch, so that a network cannot be
exported for graphs that are not known yet. What can be is exported here: the head, from the invariant embedding of
any number of graphs (:meth:`ccn.CCN.embed`) to the outputs; and the network for graphs of a fixed structure,
from their vertex features to the outputs, which is what a sensor net or one molecule under study needs.
Either program runs without ccn; it is saved with ``torch.export.save``, or as ONNX with :func:`write_onnx`.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ccn.engine.backend import using_backend
from ccn.errors import ConfigurationError, needs
from ccn.files import write_atomically
from ccn.graphs.pack import Pack
from ccn.models import CCN

__all__ = ["export_head", "export_network", "write_onnx"]


def export_head(net: CCN) -> torch.export.ExportedProgram:
    """From embeddings (graphs, width), graphs at will, to outputs (graphs, out_features).

    Where the network reads features of graphs as a whole, they are further columns, behind those of the embedding.

    Example:
        >>> net = CCN(in_features=3, out_features=2, channels=4).eval()
        >>> program = export_head(net).module()
        >>> program(torch.rand(7, sum(net.readout_widths))).shape
        torch.Size([7, 2])
    """
    weight = net.embedding.weight
    rows = torch.rand(3, sum(net.readout_widths) + net.graph_features, dtype=weight.dtype, device=weight.device)
    return _checked(net.head, rows, ({0: torch.export.Dim("graphs")},))


def export_network(net: CCN, graphs: Any) -> torch.export.ExportedProgram:
    """From vertex features (vertices, in_features) of graphs with this very structure to outputs.

    Edge weights, edge features and features of graphs as a whole are those of the graphs given.

    Example:
        >>> from ccn import Graph
        >>> net, g = CCN(in_features=3, out_features=1, channels=4).eval(), Graph([(0, 1), (1, 2)], torch.rand(3, 3))
        >>> torch.allclose(export_network(net, [g]).module()(g.features), net([g]))
        True
    """
    b = Pack.of(graphs).batch()  # a new one: what torch traces stays in its caches

    class Fixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = net
            self.training = net.training

        def forward(self, features: Tensor) -> Tensor:
            moved = b.to(features.device)
            moved.features = features
            out: Tensor = self.net(moved)
            return out

    return _checked(Fixed(), b.features.to(net.embedding.weight.dtype), None)


def write_onnx(program: torch.export.ExportedProgram, path: str | Path) -> Path:
    """Write an exported program as an ONNX file, once ONNX Runtime has given the same with it; the extra ``onnx``.

    Example:
        >>> net = CCN(in_features=3, out_features=2, channels=4).eval()
        >>> write_onnx(export_head(net), "head.onnx").name
        'head.onnx'
    """
    with needs(f"{path}: an ONNX file", "onnx"):
        import onnxruntime
        import onnxscript  # noqa: F401 (which torch needs)
    path = Path(path)
    example = program.example_inputs[0][0]
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # it tells of operators of other packages
    made = torch.onnx.export(program, (example,), dynamo=True, verbose=False)
    assert made is not None
    content = made.model_proto.SerializeToString()
    quiet = onnxruntime.SessionOptions()
    quiet.log_severity_level = 3  # errors; else it tells of every constant that it folds
    session = onnxruntime.InferenceSession(content, quiet)
    given = torch.rand_like(example)
    found = session.run(None, {session.get_inputs()[0].name: given.numpy()})[0]
    if not torch.allclose(torch.from_numpy(found), program.module()(given), rtol=1e-4, atol=1e-5):
        raise ConfigurationError("the ONNX file differs from the network; keep it as a model file or with torch.export")
    write_atomically(path, content)
    return path


def _checked(module: nn.Module, example: Tensor, dynamic: Any) -> torch.export.ExportedProgram:
    """The exported program, once it has given what the module gives."""
    was = module.training
    module.eval()
    try:
        with using_backend("torch"):
            module(example)  # index maps are built now: what is built while torch traces has no values
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

"""Export to ONNX: what runs without this package, and what does not.

    python examples/onnx_export.py

The composition scheme of a graph is made outside of torch, so a network for graphs that are not known yet cannot be
one file of operators. Two things can: the head, from embeddings of any number of graphs to predictions, and the
network for graphs of one fixed structure, here aspirin, from features of its atoms. ONNX Runtime is asked for the
same inputs as the network before a file is written (`pip install 'ccn[onnx]'`).
"""

from __future__ import annotations

import numpy as np
import onnxruntime
import torch

import ccn
from ccn.export import export_head, export_network, write_onnx


def run(path: str, given: np.ndarray) -> np.ndarray:
    """What ONNX Runtime makes of an input."""
    quiet = onnxruntime.SessionOptions()
    quiet.log_severity_level = 3  # errors
    session = onnxruntime.InferenceSession(path, quiet)
    found: np.ndarray = session.run(None, {session.get_inputs()[0].name: given})[0]
    return found


def main() -> dict[str, float]:
    """The largest differences between ONNX Runtime and the network."""
    torch.manual_seed(0)
    graphs = [ccn.Graph.from_smiles(s) for s in ("CCO", "c1ccccc1", "CC(=O)O")]
    net = ccn.CCN(in_features=graphs[0].features.shape[1], out_features=1, channels=8).eval()
    with torch.no_grad():
        embedded, predicted = net.embed(graphs), net(graphs)
        aspirin = ccn.Graph.from_smiles("CC(=O)Oc1ccccc1C(=O)O")
        write_onnx(export_head(net), "head.onnx")
        write_onnx(export_network(net, [aspirin]), "aspirin.onnx")
        return {
            "head, three molecules": float(np.abs(run("head.onnx", embedded.numpy()) - predicted.numpy()).max()),
            "network, aspirin": float(
                np.abs(run("aspirin.onnx", aspirin.features.numpy()) - net([aspirin]).numpy()).max()
            ),
        }


if __name__ == "__main__":
    for what, difference in main().items():
        print(f"{what}: largest difference {difference:.0e}")

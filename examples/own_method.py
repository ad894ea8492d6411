"""A method of one's own: two classes and a line, and every command, the reports and the stack's tools know it.

    python examples/own_method.py

The method is the mean of the nearest training molecules in descriptors. What it learned is a `Fitted`, which predicts
packed rows and can be written to a file; how it learns is a `Method`, whose fields are its settings. Splits,
intervals, the domain and model files come from the package.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from rdkit import Chem
from rdkit.Chem import rdMolDescriptors

import ccn
from ccn.learning.examples import Examples
from ccn.learning.fitted import Fitted
from ccn.learning.inputs import Inputs
from ccn.learning.task import Task
from ccn.methods import register
from ccn.methods.method import Method, Outcome
from ccn.training.execution import Execution


@dataclass
class FittedNeighbours(Fitted):
    """The training rows, scaled, with their targets as the task encodes them."""

    rows: np.ndarray
    values: np.ndarray
    scale: np.ndarray
    count: int

    def predict(self, graphs: ccn.Pack) -> np.ndarray:
        """(members, graphs, targets): here one member."""
        assert graphs.graph_features is not None
        x = graphs.graph_features / self.scale
        distance = ((x[:, None] - self.rows) ** 2).sum(axis=2)
        nearest = np.argsort(distance, axis=1, kind="stable")[:, : self.count]
        return self.task.restore(self.values[nearest].mean(axis=1))[None]

    def state(self) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
        """Tensors and plain data, from which ``from_state`` makes it again."""
        arrays = {"rows": self.rows, "values": self.values, "scale": self.scale}
        return {name: torch.from_numpy(np.ascontiguousarray(a)) for name, a in arrays.items()}, {"count": self.count}

    @classmethod
    def from_state(
        cls, tensors: Mapping[str, torch.Tensor], data: Mapping[str, Any], task: Task, inputs: Inputs
    ) -> FittedNeighbours:
        arrays = {name: t.numpy() for name, t in tensors.items()}
        return cls(task, inputs, **arrays, count=data["count"])


@dataclass(frozen=True, kw_only=True)
class Neighbours(Method):
    """The mean of the ``count`` nearest training molecules."""

    features: str = "element+descriptors"
    count: int = 3
    fitted = FittedNeighbours
    reads_whole = True  # reads features of the molecule as a whole, such as --extra-columns

    def learn(self, examples: Examples, inputs: Inputs, execution: Execution) -> Outcome:
        """Keep the training rows."""
        task = examples.task()
        whole = examples.graphs.graph_features
        assert whole is not None
        x = whole[examples.train].astype(np.float64)
        scale = np.maximum(x.std(axis=0), 1e-9)
        y = np.asarray(task.encode(examples.targets[examples.train]), dtype=np.float64)
        return Outcome(FittedNeighbours(task, inputs, x / scale, y, scale, self.count), [{"count": self.count}])


def main() -> tuple[float, bool]:
    """R2 of logP on other molecules, and whether the model predicts the same once saved and loaded."""
    register("neighbours", Neighbours)
    groups = ["O", "N", "Cl", "C(=O)O", "C#N", "OC"]
    frames = ["CC{}", "CCCC{}", "CC(C)C{}", "C1CCCC1{}", "C1CCCCC1{}", "c1ccccc1{}", "Cc1ccc(cc1){}", "CCCCCCC{}"]
    smiles = [frame.format(group) for group in groups for frame in frames]
    y = [rdMolDescriptors.CalcCrippenDescriptors(Chem.MolFromSmiles(s))[0] for s in smiles]
    test = slice(None, None, 4)
    train = [i for i in range(len(smiles)) if i % 4]
    known = [smiles[i] for i in train], [y[i] for i in train]
    model = ccn.CCNRegressor(method="neighbours", options={"count": 2}).fit(*known)
    again = ccn.CCNRegressor.load(model.save("neighbours.safetensors"))
    return model.score(smiles[test], y[test]), bool((again.predict(smiles) == model.predict(smiles)).all())


if __name__ == "__main__":
    score, same = main()
    print(f"R2 on other molecules: {score:.2f}; the same once saved and loaded: {same}")

"""The small models among the seeds: ``python -m tests.fuzz.seeds`` writes them anew."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from ccn.datasets import load
from ccn.datasets.splits import make_splits
from ccn.learning import model_file
from ccn.learning.examples import Examples
from ccn.methods.method import fit
from ccn.methods.registry import make_method

SEEDS = Path(__file__).with_name("seeds")
_SMALL = {"epochs": 1, "channels": 2, "hidden": 4, "members": 2, "batch_size": 8}
_NETWORK: dict[str, Any] = {"choices": ({},), "settings": {"epochs": 1}}
METHODS: dict[str, dict[str, Any]] = {
    "ccn": {"settings": _SMALL},
    "ridge": {"settings": {"alpha": (1.0,)}},
    "forest": {"settings": {"depth": (3,)}, "trees": 2},
    "boosting": {"settings": {"depth": (2,)}, "trees": 2},
    "wl": {"settings": {"depth": (1,)}, "C": 1.0},
    "graphlet": {"settings": {"size": (3,)}, "C": 1.0},
    "shortest-path": {"C": 1.0},
    "multiscale-laplacian": {"settings": {"levels": (1,), "width": (3,), "anchors": (5,)}, "C": 1.0},
    "ccn-2-kernel": {"settings": {"levels": (1,)}, "C": 1.0},
    "ngf": _NETWORK,
    "pscn": _NETWORK,
    "gin": {**_NETWORK, "hidden": 4, "layers": 2},
    "trees": {"trees": 2, "leaves": 3, "runs": 1},
    "gp": {"levels": 1},
    "auto": {"settings": {**_SMALL, "members": 1}, "folds": 2, "processes": 1},
}
KINDS = {"ccn": ("regression", "classes", "graphs"), "wl": ("regression", "classes", "graphs"), "forest": ("classes",)}
SOURCES: dict[str, tuple[str, dict[str, Any]]] = {
    "regression": ("plain.csv", {}),
    "classes": ("classes.tsv", {"target_columns": ["active"]}),
    "graphs": ("graphs.jsonl", {}),
}


def examples(kind: str, molecules: str = "element") -> Examples:
    """The rows of a source, all for training but a few."""
    name, options = SOURCES[kind]
    options = options if kind == "graphs" else {**options, "features": molecules}
    data = load(SEEDS / name, store=False, **options)
    return Examples.of_dataset(data, make_splits("random", len(data), fractions=(0.7, 0.3, 0.0), seed=0)[0])


def main() -> None:
    """Write the models."""
    folder = SEEDS / "models"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, options in METHODS.items():
        for kind in SOURCES:
            if kind not in KINDS.get(name, ("regression",)):
                continue
            method = make_method(name, classification=kind == "classes", **options)
            about = {"smiles_column": "smiles"} if kind != "graphs" else {}
            model, _ = fit(method, examples(kind, method.reads().molecules), about=about)
            model_file.save(model, folder / f"{name}-{kind}.safetensors")


if __name__ == "__main__":
    main()

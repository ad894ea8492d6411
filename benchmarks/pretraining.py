"""Whether a pretrained network helps on small sets of molecules.

A network learns noise-free properties of many molecules: RDKit's descriptors on a normal scale, and logarithms of
Morgan counts. Then, on the training rows of public tasks (never their test rows), folds by scaffold compare

- the Gaussian process of the stack, without and with the invariants of the pretrained network as further columns;
- a network from scratch with one that starts from the pretrained weights, and with the network of the stack, which
  reads descriptors in its head.

    python -m benchmarks.pretraining train ZINC.smi.gz .. --leave-out tdc/herg.csv.gz .. -o weights.safetensors
    CCN_DATA=.. python -m benchmarks.pretraining measure weights.safetensors

``train`` leaves out the test rows (``split`` other than train) of the tables given, by the first block of the InChIKey.
``measure`` writes ``results/pretraining.json`` and ``results/pretraining.md``.
"""

from __future__ import annotations

import csv
import gzip
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from cyclopts import App

from ccn.datasets.dealing import scaffold_groups
from ccn.datasets.molecules import pack_molecules
from ccn.datasets.splits import Split, k_fold
from ccn.features.quantiles import QuantileScale
from ccn.files import write_json
from ccn.graphs.pack import Pack
from ccn.learning import model_file
from ccn.learning.examples import Examples
from ccn.learning.inputs import Inputs
from ccn.learning.metrics import metrics
from ccn.learning.model import Model
from ccn.methods.method import fit
from ccn.methods.registry import make_method
from ccn.methods.trees import WHOLE
from ccn.paper.tasks import TASKS, read_task
from ccn.reports.markup import markdown

RESULTS = Path(__file__).parent / "results"
NETWORK = {"order": (2, 2, 2, 1), "levels": 3, "channels": 24, "hidden": (256,), "vertices": "given"}
STACK = {"order": 1, "levels": 3, "channels": 16, "vertices": "given", "head_dropout": 0.2, "least_steps": 400}
TUNED = {"epochs": 8, "least_steps": 120, "learning_rate": 1e-3}
MEASURED = ("dili", "half_life_obach", "herg", "caco2_wang", "clearance_microsome_az", "CHEMBL1862_Ki")
app = App(help=__doc__)


def _key(smiles: str) -> str:
    from rdkit import Chem
    from rdkit.Chem.rdinchi import MolToInchiKey

    mol = Chem.MolFromSmiles(smiles)
    return "" if mol is None else str(MolToInchiKey(mol))[:14]


def _held_out(tables: Iterable[Path]) -> set[str]:
    found = set()
    for path in tables:
        with gzip.open(path, "rt") as file:
            found |= {_key(row["smiles"]) for row in csv.DictReader(file) if row["split"] != "train"}
    return found


@app.command
def train(
    files: list[Path], /, *, leave_out: list[Path], out: Path, count: int = 270_000, epochs: int = 4, seed: int = 0
) -> None:
    """Pretrain on the first word of each line of gzipped files, ``count`` molecules drawn from all of them."""
    lines = []
    for path in files:
        with gzip.open(path, "rt") as file:
            lines += [words[0] for line in file if (words := line.split())]
    held = _held_out(leave_out)
    kept: list[str] = []
    for i in np.random.default_rng(seed).permutation(len(lines)):
        if len(kept) == count:
            break
        if _key(lines[i]) not in held | {""}:
            kept.append(lines[i])
    read = pack_molecules(kept, "full+morgan+descriptors", n_jobs=-1).pack
    whole = np.asarray(read.graph_features)
    targets = _targets(whole[:, 1024:], whole[:, :1024])
    graphs = Pack({name: a for name, a in read.arrays.items() if name != "graph_features"})
    rows, validation = np.arange(len(graphs)), max(1, min(1_000, len(graphs) // 10))
    split = Split(rows[:-validation], rows[-validation:], rows[:0])
    settings = {**NETWORK, "molecules": "full", "epochs": epochs, "least_steps": 0, "batch_size": 128}
    method = make_method("ccn", classification=False, seed=seed, settings=settings)
    model, _ = fit(method, Examples(graphs, targets, split, inputs=Inputs("full")))
    model_file.save(model, out)


def _targets(descriptors: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Descriptors that are not nearly constant, and counts that neither nearly all nor nearly no molecules have."""
    first = descriptors[:20_000]
    usual = [np.unique(column, return_counts=True)[1].max() / len(column) for column in first.T]
    varied = np.flatnonzero(np.array(usual) < 0.998)
    share = (counts[:20_000] > 0).mean(axis=0)
    common = np.flatnonzero((share > 0.02) & (share < 0.98))
    scaled = QuantileScale.fit(first[:, varied])(descriptors[:, varied])
    return np.concatenate([scaled, np.log1p(counts[:, common])], axis=1).astype(np.float64)


@app.command
def measure(weights: Path, *, tasks: list[str] | None = None, folds: int = 5) -> None:
    """Compare on training rows, with and without the pretrained network."""
    torch.set_num_threads(1)
    start, rows = model_file.load(weights), []
    for name in tasks or MEASURED:
        rows.append(_compared(name, start, folds))
        print(rows[-1], flush=True)
        write_json(RESULTS / "pretraining.json", rows)
    shown = [[r["task"], r["metric"], *(f"{r[m]:.4f}" for m in METHODS)] for r in rows]
    (RESULTS / "pretraining.md").write_text(markdown(["task", "metric", *METHODS], shown) + "\n")


METHODS = ("gp", "gp + invariants", "network", "network, pretrained", "network of the stack")


def _compared(name: str, start: Model, folds: int) -> dict[str, Any]:
    task = TASKS[name]
    parts = read_task(task)
    whole, bare = (pack_molecules(parts.train, f, progress=False).pack for f in (WHOLE, "full"))
    invariants = start.fitted.embed(bare)
    columns = tuple(f"invariant{i}" for i in range(invariants.shape[1]))
    classes = (0, 1) if task.classification else ()
    targets = np.asarray(parts.y, dtype=np.float64).reshape(-1, 1)
    given = Examples(
        whole,
        targets,
        Split(np.arange(len(bare)), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)),
        classification=task.classification,
        classes=classes,
        inputs=Inputs(WHOLE),
        groups=scaffold_groups(parts.train),
    )
    more = whole.with_more_graph_features(invariants)
    cases: dict[str, tuple[str, Examples, dict[str, Any]]] = {
        "gp": ("gp", given, {}),
        "gp + invariants": ("gp", replace(given, graphs=more, inputs=Inputs(WHOLE, columns=columns)), {}),
        "network": ("ccn", replace(given, graphs=bare, inputs=Inputs("full")), {"settings": STACK}),
        "network, pretrained": (
            "ccn",
            replace(given, graphs=bare, inputs=start.fitted.inputs),
            {"settings": {**NETWORK, **TUNED}, "start": start},
        ),
        "network of the stack": ("ccn", given, {"settings": {**STACK, "graph_features": True}}),
    }
    out: dict[str, Any] = {"task": name, "metric": task.metric, "rows": len(bare)}
    for label, (method, examples, options) in cases.items():
        began = time.process_time()
        found = _out_of_fold(make_method(method, classification=task.classification, **options), examples, folds)
        what = examples.task()
        out[label] = metrics(what, targets, found)[task.metric]
        out[f"{label}, seconds"] = time.process_time() - began
    return out


def _out_of_fold(method: Any, examples: Examples, folds: int) -> np.ndarray:
    out: np.ndarray | None = None
    for part in k_fold(len(examples.graphs), folds, 0, groups=examples.groups, validation=False):
        split = Split(part.train, part.test, part.test[:0], complete=False)
        model, _ = fit(method, replace(examples, split=split), domain=False)
        found = model.predict(examples.graphs.select(part.test)).mean
        out = np.empty((len(examples.graphs), found.shape[1])) if out is None else out
        out[part.test] = found
    assert out is not None
    return out


if __name__ == "__main__":
    app()

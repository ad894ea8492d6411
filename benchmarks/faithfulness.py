"""Whether explanations find what was planted: python -m benchmarks.faithfulness.

Molecules are drawn from blocks, with a fixed seed, and labelled by three rules that atoms obey:

* ``sum``: Crippen's logP, a sum over atoms; to be found are the atoms above the mean of their molecule.
* ``motif``: whether there is an amide; to be found are its atoms, in molecules that have one.
* ``pair``: whether an oxygen and a nitrogen are three bonds apart; to be found are those that are.

Each method is fitted to each rule. On held-out molecules the atoms are ranked by their contribution, half of that of
each bond included: AUROC is the chance that an atom that was planted ranks above one that was not, averaged over
molecules. The deletion curve replaces atoms by a dummy atom, the largest contributions first, and says how far the
margin falls, in units of its deviation over molecules, beside a random order. chemprop is fitted and explained by its
own command where CCN_CHEMPROP names it; without it, its rows of the record stay as they are. Writes
results/explanations/faithfulness.json and the tables of docs/explanations.md, which a test compares.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ccn
from benchmarks.measure import write_between
from ccn.chemistry.smiles import parse_smiles
from ccn.explain import Explanation, explain
from ccn.files import write_json
from ccn.paper import chemprop
from ccn.reports.markup import markdown

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "results" / "explanations" / "faithfulness.json"
PAGE = ROOT / "docs" / "explanations.md"
ROWS, HELD, SHARES = 500, 80, (0.1, 0.2, 0.3, 0.5)
_BLOCKS = (
    *("C", "CC", "C(C)", "CCC", "O", "N", "NC", "OC", "C(=O)N", "C(=O)", "C(=O)O", "S", "C(F)", "C(Cl)", "C(O)"),
    *("C(N)", "c1ccc(cc1)", "c1cccc(c1)", "c1ccncc1", "C1CCN(CC1)", "C1CCCCC1", "C=C", "CO", "CN"),
)
_ENDS = ("C", "O", "N", "F", "Cl", "C#N", "C(F)(F)F", "c1ccccc1", "CO", "CN", "OC", "C(C)C", "c1ccncc1", "C(=O)N")
_NETWORK = {"order": 2, "levels": 2, "channels": 12, "epochs": 40, "least_steps": 400}
METHODS: dict[str, dict[str, Any]] = {
    "gp": {},
    "trees": {"options": {"runs": 1}},
    "ccn": {"settings": _NETWORK},
    "auto": {"options": {"budget": "fast", "processes": 1}},
    "chemprop": {},
}

_LONGER = {"order": 2, "levels": 2, "channels": 8, "epochs": 40, "least_steps": 1200, "patience": 12}
MORE: dict[tuple[str, str], tuple[int, dict[str, Any]]] = {  # a network learns the pair from 2,000 molecules, not 500
    ("pair", "ccn"): (2_000, {"settings": _LONGER, "features": "element"}),
    ("pair", "chemprop"): (2_000, {}),
}


def molecules(count: int, seed: int = 0) -> list[str]:
    """Different molecules of a few blocks in a row."""
    rng = np.random.default_rng(seed)
    found: dict[str, None] = {}
    from rdkit import Chem

    while len(found) < count:
        inner = [str(b) for b in rng.choice(_BLOCKS, size=rng.integers(1, 5)) if not str(b).startswith("c1ccncc1")]
        text = "".join([str(rng.choice(("C", "O", "N", "F", "CC"))), *inner, str(rng.choice(_ENDS))])
        mol = Chem.MolFromSmiles(text)
        if mol is not None and 5 <= mol.GetNumAtoms() <= 30:
            found.setdefault(Chem.MolToSmiles(mol), None)
    return list(found)


def planted(rule: str, smiles: str) -> tuple[float, NDArray[np.bool_], list[tuple[int, int]]]:
    """The label of a molecule, its planted atoms, and its planted pairs."""
    from rdkit import Chem
    from rdkit.Chem import GetDistanceMatrix
    from rdkit.Chem.rdMolDescriptors import _CalcCrippenContribs

    mol = parse_smiles(smiles)
    atoms = np.zeros(mol.GetNumAtoms(), dtype=bool)
    if rule == "sum":
        full = Chem.AddHs(mol)
        each = np.array(_CalcCrippenContribs(full))[:, 0]
        own = each[: len(atoms)].copy()
        for atom in list(full.GetAtoms())[len(atoms) :]:
            own[atom.GetNeighbors()[0].GetIdx()] += each[atom.GetIdx()]
        return float(each.sum()), own > own.mean(), []
    if rule == "motif":
        for match in mol.GetSubstructMatches(Chem.MolFromSmarts("[NX3;!a]C=O")):
            atoms[list(match)] = True
        return float(atoms.any()), atoms, []
    symbols = np.array([atom.GetSymbol() for atom in mol.GetAtoms()])
    apart = GetDistanceMatrix(mol) == 3
    pairs = [
        (int(i), int(j)) for i, j in zip(*np.nonzero(apart), strict=True) if symbols[i] == "O" and symbols[j] == "N"
    ]
    for i, j in pairs:
        atoms[[i, j]] = True
    return float(atoms.any()), atoms, pairs


def auroc(score: NDArray[np.float64], truth: NDArray[np.bool_]) -> float | None:
    """The chance that a true one scores above another; None where there is no other."""
    from sklearn.metrics import roc_auc_score

    return None if truth.all() or not truth.any() else float(roc_auc_score(truth, score))


def without(mol: Any, atoms: Iterable[int]) -> Any:
    """The molecule with dummies in place of some atoms."""
    from rdkit import Chem

    cut = Chem.RWMol(mol)
    for i in atoms:
        atom = cut.GetAtomWithIdx(int(i))
        atom.SetAtomicNum(0)
        atom.SetFormalCharge(0)
        atom.SetNoImplicit(True)
        atom.SetNumExplicitHs(0)
        atom.SetChiralTag(Chem.ChiralType.CHI_UNSPECIFIED)
    made = cut.GetMol()
    Chem.SanitizeMol(made)
    return made


Margin = Callable[[Sequence[Any]], NDArray[np.float64]]


def falls(margin: Margin, mols: Sequence[Any], *orders: Sequence[NDArray[np.int64]]) -> list[list[float]]:
    """For each order and share of atoms how far the margin falls without them, on average, in its deviations."""
    asked = list(mols)
    for order in orders:
        for share in SHARES:
            asked += [without(m, o[: max(1, round(share * len(o)))]) for m, o in zip(mols, order, strict=True)]
    before, *after = margin(asked).reshape(-1, len(mols))
    by_share = [round(float((before - cut).mean() / (before.std() or 1.0)), 3) for cut in after]
    return [by_share[i : i + len(SHARES)] for i in range(0, len(by_share), len(SHARES))]


@dataclass(frozen=True)
class Fitted:
    """What is measured of a method fitted to a rule.

    Attributes:
        explain: contributions to the predictions for these SMILES.
        margin: of molecules of RDKit.
        score: R2 or accuracy.
    """

    explain: Callable[[Sequence[str]], list[Explanation]]
    margin: Margin
    score: Callable[[Sequence[str], NDArray[np.float64]], float]


@contextmanager
def fitted(
    rule: str, method: str, smiles: Sequence[str], y: NDArray[np.float64], options: dict[str, Any]
) -> Iterator[Fitted]:
    """A method of ours or chemprop, fitted to these molecules."""
    numbers = rule == "sum"
    if method == "chemprop":
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            chemprop.train(folder, smiles, y, not numbers, 0)
            yield Fitted(
                lambda asked: myerson(rule, folder, asked),
                lambda mols: _chemprop_margin(folder, mols, numbers),
                lambda asked, truth: _score_of(chemprop.predict(folder, asked), truth, numbers),
            )
        return
    model: Any = (ccn.CCNRegressor if numbers else ccn.CCNClassifier)(method=method, random_state=0, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(list(smiles), y if numbers else y.astype(int))
        yield Fitted(
            lambda asked: explain(model.model_, asked, pairs=method == "ccn"),
            lambda mols: model.model_.explain(model.model_.inputs.read(mols)).prediction,
            lambda asked, truth: model.score(list(asked), truth if numbers else truth.astype(int)),
        )


def myerson(rule: str, folder: Path, smiles: Sequence[str]) -> list[Explanation]:
    """The Myerson values of chemprop's own callback; of classes they are of the probability."""
    predicted = chemprop.predict(folder, smiles, "--callback", "myerson", "--callback-params", '{"save_as_json": true}')
    values = json.loads((folder / "predicted_myerson_explanation.json").read_text(encoding="utf-8"))
    return [
        Explanation(
            target=rule,
            scale="prediction",
            value=float(told),
            mol=parse_smiles(text),
            atoms=np.array(each),
            bonds=np.zeros(0),
            ends=np.zeros((0, 2), dtype=np.int64),
            whole={},
            baseline=0.0,
            prediction=float(told),
            residual=float(told - np.sum(each)),
        )
        for text, each, told in zip(smiles, values, predicted, strict=True)
    ]


def as_smiles(mol: Any) -> str:
    """SMILES from which RDKit reads the same bonds: Kekulé's, since of a ring with two dummies it reads lower-case
    letters as another ring.
    """
    from rdkit import Chem

    kekule = Chem.Mol(mol)
    Chem.Kekulize(kekule, clearAromaticFlags=True)
    return Chem.MolToSmiles(kekule)


def _chemprop_margin(folder: Path, mols: Sequence[Any], numbers: bool) -> NDArray[np.float64]:
    told = chemprop.predict(folder, [as_smiles(mol) for mol in mols])
    if numbers:
        return told
    told = told.clip(1e-7, 1 - 1e-7)  # it writes single precision, where 1 - 1e-8 is 1
    return np.log(told) - np.log1p(-told)


def _score_of(told: NDArray[np.float64], truth: NDArray[np.float64], numbers: bool) -> float:
    from sklearn.metrics import accuracy_score, r2_score

    return float(r2_score(truth, told) if numbers else accuracy_score(truth > 0.5, told > 0.5))


def measure(rule: str, method: str) -> dict[str, Any]:
    """One method on one rule."""
    count, options = MORE.get((rule, method), (ROWS, METHODS[method]))
    smiles = molecules(count + HELD)
    known = [planted(rule, s) for s in smiles]
    y = np.array([label for label, _, _ in known])
    began = sum(os.times()[:4])
    held = [i for i in range(count, len(smiles)) if rule == "sum" or y[i] > 0.5]
    rng = np.random.default_rng(1)
    with fitted(rule, method, smiles[:count], y[:count], options) as model:
        found = model.explain([smiles[i] for i in held])
        right = model.score(smiles[count:], y[count:])
        ours = [np.argsort(-e.on_atoms(), kind="stable") for e in found]
        random = [rng.permutation(len(e.atoms)) for e in found]
        deletion, beside = falls(model.margin, [e.mol for e in found], ours, random)
    truth = [known[i][1] for i in held]
    each = [a for e, t in zip(found, truth, strict=True) if (a := auroc(e.on_atoms(), t)) is not None]
    residual = max(abs(e.residual) / max(abs(e.prediction - e.baseline), 1e-9) for e in found)
    made = {
        "rule": rule,
        "method": method,
        "train": count,
        "score": round(float(right), 3),
        "majority": None if rule == "sum" else round(float(max(y[count:].mean(), 1 - y[count:].mean())), 3),
        "molecules": len(each),
        "auroc": round(float(np.mean(each)), 3),
        "deletion": deletion,
        "random": beside,
        "residual": float(f"{residual:.1e}"),
        "seconds": round(sum(os.times()[:4]) - began, 1),
    }
    if method == "chemprop":
        made["version"] = chemprop.versions()["chemprop"]
    if method == "ccn" and rule == "pair":
        made["pair_auroc"] = round(float(np.mean(_pair_scores(found, [known[i][2] for i in held]))), 3)
    return made


def _pair_scores(found: Sequence[Explanation], pairs: Sequence[Sequence[tuple[int, int]]]) -> list[float]:
    """AUROC of the planted pairs among all pairs of atoms of a molecule."""
    out = []
    for e, planted_pairs in zip(found, pairs, strict=True):
        assert e.pairs is not None
        both = e.pairs + e.pairs.T
        u, v = np.triu_indices(len(both), 1)
        wanted = {frozenset(p) for p in planted_pairs}
        truth = np.array([frozenset((int(a), int(b))) in wanted for a, b in zip(u, v, strict=True)])
        score = auroc(both[u, v], truth)
        if score is not None:
            out.append(score)
    return out


def rendered(record: Mapping[str, Any]) -> str:
    """The tables of the page."""
    rows = record["rows"]
    head = ["rule", "method", "fitted to"]
    head += ["R2, or accuracy (larger class)", "AUROC of planted atoms", "largest residual"]
    first = [
        [r["rule"], r["method"], str(r["train"]), _score(r), f"{r['auroc']:.2f}", f"{r['residual']:.0e}"] for r in rows
    ]
    shares = [f"{100 * s:.0f} %" for s in record["shares"]]
    second = [
        [r["rule"], r["method"], *(f"{a:.2f} / {b:.2f}" for a, b in zip(r["deletion"], r["random"], strict=True))]
        for r in rows
    ]
    pair = next((r["pair_auroc"] for r in rows if "pair_auroc" in r), None)
    text = f"{record['held']} molecules were held out; of those with a motif or a pair, the ones that have it count. "
    text += "Where a method predicts no better than the larger class, it has not learned the rule, and cannot show it."
    text += f"\n\n{markdown(head, first, 'llrrrr')}\n\n"
    text += "Fall of the margin, in its deviations, when so many atoms are replaced: largest contributions / random "
    text += f"order.\n\n{markdown(['rule', 'method', *shares], second, 'll' + 'r' * len(shares))}"
    version = next((r["version"] for r in rows if "version" in r), None)
    if version is not None:
        text += (
            f"\n\nchemprop {version} is trained at its defaults, which put a fifth of the rows aside, and explained by "
            "its own Myerson values (`chemprop predict --callback myerson`): what an atom adds to the sum of the "
            "predictions for the connected pieces that are there, averaged over the orders in which atoms may come; "
            "exact up to 20 atoms. Of classes they share out the probability; the fall is of the log odds, as for the "
            "others."
        )
    if pair is not None:
        text += (
            f"\n\nAmong all pairs of atoms, the planted pairs have an AUROC of {pair:.2f} in the network of order 2."
        )
    return text


def _score(row: Mapping[str, Any]) -> str:
    larger = "" if row["majority"] is None else f" ({row['majority']:.2f})"
    return f"{row['score']:.2f}{larger}"


def main() -> None:
    """Measure what the record does not have yet, write the record and the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="*", default=list(METHODS), help="those that are measured")
    parser.add_argument("--again", action="store_true", help="forget the record")
    given = parser.parse_args()
    chosen = list(given.methods)
    if "chemprop" in chosen and (why := chemprop.missing()):
        print(f"chemprop is left out: {why}", flush=True)
        chosen.remove("chemprop")
    record: dict[str, Any] = {"held": HELD, "shares": list(SHARES), "rows": []}
    if RECORD.exists() and not given.again:
        record = json.loads(RECORD.read_text(encoding="utf-8"))
    order = [(rule, method) for rule in ("sum", "motif", "pair") for method in METHODS]
    done = {(r["rule"], r["method"]): r for r in record["rows"]}
    for rule, method in order:
        if method in chosen and (rule, method) not in done:
            done[rule, method] = measure(rule, method)
            print(json.dumps(done[rule, method]), flush=True)
            record["rows"] = [done[key] for key in order if key in done]
            RECORD.parent.mkdir(parents=True, exist_ok=True)
            write_json(RECORD, record)
    write_between(PAGE, "faithfulness", rendered(record))


if __name__ == "__main__":
    main()

"""Hashes of molecules: they recognise those that a model was made with, and tell nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from problem import graphs
from rdkit import Chem

import ccn
from ccn.datasets.splits import Split
from ccn.learning import model_file
from ccn.learning.examples import Examples
from ccn.learning.model import Model
from ccn.learning.seen import Seen
from ccn.methods.method import fit
from ccn.methods.registry import make_method

SMILES = ["C" * i + x for i in range(1, 11) for x in "ON"]
CANONICAL = [Chem.MolToSmiles(Chem.MolFromSmiles(s)) for s in SMILES]
SALT = bytes(range(16))
NONE = np.arange(0)


def model(seed: int = 0, **settings: object) -> Model:
    made = ccn.CCNRegressor(epochs=1, channels=2, random_state=seed, validation_fraction=0.4, **settings)  # type: ignore[arg-type]
    return made.fit(SMILES, np.arange(20.0)).model_


@pytest.fixture(scope="module")
def fitted() -> Model:
    return model()


def test_molecules_are_recognised_by_part_and_only_those() -> None:
    split = Split(np.array([0, 3]), np.array([1, 4]), np.array([2]), np.array([5]))
    seen = Seen.of(["C", "O", "N", "", "C", "F"], split, SALT)
    found = seen.parts(["N", "C", "O", "F", "", "CC"])
    assert found["train"].tolist() == [False, True, False, False, False, False]
    assert found["validation"].tolist() == [False, False, True, True, False, False]  # and not what was trained on too
    assert (len(seen.train), len(seen.validation)) == (1, 2)


def test_the_salt_decides_and_the_order_of_rows_does_not() -> None:
    split = Split(np.arange(3), NONE, NONE)
    a, b = (Seen.of(["C", "O", "N"], split, salt) for salt in (SALT, bytes(16)))
    assert not np.isin(a.train, b.train).any()
    np.testing.assert_array_equal(a.train, Seen.of(["N", "C", "O"], split, SALT).train)
    assert a.train.dtype == np.int64
    assert not len(a.validation)


def test_a_model_file_holds_hashes_and_no_molecule(fitted: Model, tmp_path: Path) -> None:
    path = model_file.save(fitted, tmp_path / "m.safetensors")
    again = model_file.load(path).seen
    assert fitted.seen is not None
    assert again is not None
    assert len(again.train) == 12
    assert len(again.validation) == 8
    for name in ("train", "validation"):
        np.testing.assert_array_equal(getattr(again, name), getattr(fitted.seen, name))
    assert again.exact
    raw = path.read_bytes()
    assert not [s for s in CANONICAL if len(s) > 4 and s.encode() in raw]


def test_the_same_seed_gives_the_same_hashes(fitted: Model) -> None:
    same, other = model().seen, model(1).seen
    assert fitted.seen is not None
    assert same is not None
    assert other is not None
    assert same.salt == fitted.seen.salt != other.salt
    np.testing.assert_array_equal(same.train, fitted.seen.train)


def test_other_methods_and_rdkit_molecules_are_hashed_too(fitted: Model) -> None:
    mols = [Chem.AddHs(Chem.MolFromSmiles(s)) for s in SMILES]
    held = ccn.CCNRegressor(method="ridge", random_state=0).fit(
        mols[:15], np.arange(15.0), validation=(SMILES[15:], range(5))
    )
    seen = held.model_.seen
    assert seen is not None
    assert seen.parts(CANONICAL)["train"].tolist() == [True] * 15 + [False] * 5
    assert seen.parts(CANONICAL)["validation"].tolist() == [False] * 15 + [True] * 5


def test_graphs_that_are_no_molecules_are_unknown() -> None:
    pack = graphs(6)
    examples = Examples(pack, pack.sizes[:, None].astype(float), Split(np.arange(6), NONE, NONE))
    made = fit(make_method("ridge", classification=False), examples)[0]
    assert made.seen is None
    assert "overlap" not in made.about
    assert made.overlap(["C"] * 6, examples.targets, made.predict(pack)) is None


def test_metrics_with_and_without_the_rows_that_were_trained_on(fitted: Model) -> None:
    assert fitted.seen is not None
    new = ["CCCl", "CCBr", "CCF"]
    train = [s for s, there in zip(CANONICAL, fitted.seen.parts(CANONICAL)["train"], strict=True) if there][:4]
    held = [s for s, there in zip(CANONICAL, fitted.seen.parts(CANONICAL)["validation"], strict=True) if there][:2]
    molecules = [*train, *new, *held]
    predicted, targets = fitted.predict(fitted.inputs.read(molecules)), np.arange(9.0)[:, None]
    found = fitted.overlap(molecules, targets, predicted)
    assert found is not None
    assert (found["train"], found["validation"], found["without"]["rows"]) == (4, 2, 3)
    assert found["without"]["metrics"] == fitted.metrics(targets[4:7], predicted.select(np.arange(4, 7)))
    assert found["without"]["interval"] == fitted.coverage(targets[4:7], predicted.select(np.arange(4, 7)))
    clean = fitted.overlap(new, targets[4:7], predicted.select(np.arange(4, 7)))
    assert clean == {"train": 0, "validation": 0, "exact": True}
    every = fitted.overlap(train, targets[:4], predicted.select(np.arange(4)))
    assert every is not None
    assert every["without"]["rows"] == 0
    assert np.isnan(every["without"]["metrics"]["mae"])
    older = replace(fitted, seen=replace(fitted.seen, rdkit="1"))
    assert older.overlap(new, targets[4:7], predicted.select(np.arange(4, 7))) == {**clean, "exact": False}
    assert replace(fitted, seen=None).overlap(new, targets[4:7], predicted.select(np.arange(4, 7))) is None


def test_what_a_model_started_from_has_been_seen_too() -> None:
    salt, split = bytes(16), Split(*np.arange(3)[:, None])
    before = Seen.of(["C", "CC", "CCC"], split, salt)
    both = Seen.of(["CC", "O", "N"], split, salt).after(before)
    found = both.parts(["C", "CC", "CCC", "O", "N"])
    assert found["train"].tolist() == [True, True, False, False, False]
    assert found["validation"].tolist() == [False, False, False, True, False]

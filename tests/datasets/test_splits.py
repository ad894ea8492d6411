"""Splits: disjoint, complete, of the right sizes, the same for the same seed, and saved with what they belong to."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdkit import Chem

from ccn import Graph, Pack
from ccn.datasets import load
from ccn.datasets.dealing import molecule_groups, scaffold_groups
from ccn.datasets.splits import (
    Split,
    fingerprint,
    k_fold,
    load_splits,
    make_splits,
    paper_splits,
    random_split,
    save_splits,
    split_by_column,
    stratified_split,
)
from ccn.errors import ConfigurationError, FileError

seeds = st.integers(0, 10**6)
SMILES = ["c1ccccc1" + "C" * i for i in range(12)] + ["C1CCCCC1" + "N" * i for i in range(1, 5)]
SMILES += (
    ["C1CC1" + "O" * i for i in range(3)] + ["C" * i for i in range(1, 6)] + ["CCc1ccccc1", "NC1CCCCC1", "[Na+].[Cl-]"]
)


def parts(split: Split) -> list[set[int]]:
    return [set(split.train.tolist()), set(split.validation.tolist()), set(split.test.tolist())]


def disjoint_and_complete(split: Split, n: int) -> None:
    train, validation, test = parts(split)
    assert not train & validation
    assert not train & test
    assert not validation & test
    assert train | validation | test == set(range(n))
    assert sum(split.sizes) == len(split) == n


def tears(split: Split, groups: Any) -> bool:
    """Whether a group has rows in two parts."""
    train, validation, test = (set(groups[list(part)].tolist()) for part in parts(split))
    return bool(train & validation or train & test or validation & test)


def same(a: Split, b: Split) -> bool:
    return parts(a) == parts(b)


@given(seed=seeds, n=st.integers(3, 300), classes=st.integers(1, 5), folds=st.integers(3, 5))
@settings(deadline=None, max_examples=50)
def test_every_kind_is_disjoint_and_complete(seed: int, n: int, classes: int, folds: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, n)
    made = [random_split(n, seed=seed), stratified_split(labels, seed=seed), *paper_splits(labels, 3, seed)]
    made.append(random_split(n, (0.6, 0.0, 0.4), seed=seed))
    for split in made[:-1]:
        assert (np.abs(np.array(split.sizes) - n * np.array([0.8, 0.1, 0.1])) < (1 if n >= 10 else 3)).all()
    if n >= folds:
        made += [*k_fold(n, folds, seed), *k_fold(n, folds, seed, labels=labels, validation=False)]
    for split in made:
        disjoint_and_complete(split, n)


@given(seed=seeds, groups=st.integers(3, 40))
@settings(deadline=None, max_examples=50)
def test_no_kind_tears_a_group(seed: int, groups: int) -> None:
    rng = np.random.default_rng(seed)
    group = np.concatenate([np.arange(groups), rng.integers(0, groups, 20)])
    n = len(group)
    made = [random_split(n, seed=seed, groups=group), *k_fold(n, 3, seed, groups=group)]
    for split in made:
        disjoint_and_complete(split, n)
        assert not tears(split, group)


def test_the_same_seed_gives_the_same_split_and_another_one_another() -> None:
    labels = np.arange(100) % 3
    makers: list[Callable[[int], Split]] = [
        lambda seed: random_split(100, seed=seed),
        lambda seed: stratified_split(labels, seed=seed),
        lambda seed: k_fold(100, seed=seed)[0],
        lambda seed: paper_splits(labels, seed=seed)[3],
    ]
    for make in makers:
        assert same(make(5), make(5))
        assert not same(make(5), make(6))
    ten = paper_splits(labels)
    assert len(ten) == 10
    assert all(not same(a, b) for i, a in enumerate(ten) for b in ten[:i])
    assert all(same(a, b) for a, b in zip(ten, paper_splits(labels, 12), strict=False))


def test_the_papers_splits_of_mutag() -> None:
    labels = load("MUTAG").targets
    for split in paper_splits(labels):
        assert split.sizes == (150, 19, 19)
        # 63 of the first class and 125 of the second, in proportion to within a row or two.
        for part, expected in zip((split.train, split.validation, split.test), (50.4, 6.3, 6.3), strict=True):
            assert abs((labels[part] == 0).sum() - expected) < 2


def test_small_and_missing_classes_are_split_sensibly() -> None:
    nan = float("nan")
    labels = np.array([0.0] * 50 + [1.0] * 3 + [2.0] + [3.0] * 2 + [nan] * 4)
    for seed in range(30):
        split = stratified_split(labels, seed=seed)
        disjoint_and_complete(split, 60)
        assert split.sizes == (48, 6, 6)
        assert {0.0, 1.0, 2.0, 3.0} <= set(labels[split.train])
        assert np.isnan(labels[split.train]).any()
    missing = np.array([0.0] * 40 + [nan] * 40)
    assert np.isnan(missing[stratified_split(missing).test]).sum() == 4
    # Several targets: each combination is a class.
    both = np.stack([np.arange(80) % 2, np.arange(80) // 40], axis=1)
    test = stratified_split(both).test
    assert sorted(map(tuple, both[test].tolist())) == [(a, b) for a in (0, 1) for b in (0, 1) for _ in range(2)]
    assert stratified_split(["a", "b"] * 10).sizes == (16, 2, 2)


def test_folds_test_every_row_once_and_keep_the_classes() -> None:
    labels = np.array([0] * 30 + [1] * 10)
    folds = k_fold(40, 5, labels=labels)
    assert sorted(np.concatenate([f.test for f in folds]).tolist()) == list(range(40))
    for i, fold in enumerate(folds):
        assert fold.sizes == (24, 8, 8)
        assert labels[fold.test].sum() == 2
        assert set(fold.validation) == set(folds[(i + 1) % 5].test)
    assert k_fold(40, 2, validation=False)[0].sizes == (20, 0, 20)


def test_a_scaffold_is_in_one_part_only() -> None:
    scaffold, molecule = scaffold_groups(SMILES), molecule_groups(SMILES)
    for seed in range(10):
        (split,) = make_splits("scaffold", len(SMILES), fractions=(0.6, 0.2, 0.2), seed=seed, molecules=SMILES)
        disjoint_and_complete(split, len(SMILES))
        assert min(split.sizes) > 0
        for groups in (scaffold, molecule):
            assert not tears(split, groups)
    with pytest.raises(ConfigurationError, match=r"4 rows in 1 groups.*3 parts"):
        make_splits("scaffold", 4, molecules=["C", "CC", "CCC", "O"])


def test_a_column_says_who_goes_where() -> None:
    split = split_by_column([" train", "TEST", "val", "valid", "Validation", "training"])
    assert parts(split) == [{0, 5}, {2, 3, 4}, {1}]
    with pytest.raises(ConfigurationError, match=r"row 1 .*'tset'.* train, validation or test"):
        split_by_column(["train", "tset"])
    with pytest.raises(ConfigurationError, match=r"row 1 .*''"):
        split_by_column(["train", ""])
    with pytest.raises(ConfigurationError, match=r"rows 0 and 2 .*train.*test"):
        split_by_column(["train", "test", "test"], groups=[4, 5, 4])


@pytest.mark.parametrize("kind", ["random", "stratified", "scaffold", "folds", "paper", "column"])
def test_no_molecule_is_in_two_parts_under_two_spellings_unless_asked(kind: Any) -> None:
    other = {"c1ccccc1CC": "CCc1ccccc1", "CCO": "OCC"}
    spelled = [*SMILES, *("C" + s for s in SMILES), *other, *other.values(), *(["OCCO"] * 5)]
    n, group = len(spelled), molecule_groups(spelled)
    options: dict[str, Any] = {"molecules": spelled, "labels": np.arange(n) % 2, "count": 3}
    if kind == "column":
        options["column"] = np.array(["train", "validation", "test"])[group % 3]
    for split in make_splits(kind, n, **options):
        disjoint_and_complete(split, n)
        assert not tears(split, group)
    if kind == "column":
        options["column"][:] = ["train", "validation", "test", *["train"] * (n - 3)]
        with pytest.raises(ConfigurationError, match="duplicates='ignore'"):
            make_splits(kind, n, duplicates="together", **options)
        given = make_splits(kind, n, **options)[0]  # as it is
        assert given.sizes == (n - 2, 1, 1)
        divided = {group[1], group[2]} & set(np.delete(group, [1, 2]))
        assert set(group[given.shared(group)]) == divided | ({group[1]} if group[1] == group[2] else set())
        with pytest.raises(ConfigurationError, match="rows 0 and 1"):  # groups that were named stay together
            make_splits(kind, n, groups=[0, 0, *range(1, n - 1)], **options)
    torn = make_splits(kind, n, duplicates="ignore", **options)
    if kind != "scaffold":
        assert tears(torn[0], group)


def test_splits_by_name_are_those_of_the_functions() -> None:
    labels = np.arange(50) % 2
    assert same(make_splits("random", 50, seed=3)[0], random_split(50, seed=3))
    assert same(make_splits("stratified", 50, labels=labels)[0], stratified_split(labels))
    for kind, made in (("folds", k_fold(50, labels=labels)), ("paper", paper_splits(labels))):
        named = make_splits(kind, 50, labels=labels)  # type: ignore[arg-type]
        assert len(named) == 10
        assert all(same(a, b) for a, b in zip(named, made, strict=True))
    several = make_splits("random", 50, count=2)
    assert len(several) == 2
    assert not same(*several)
    assert [s.sizes for s in make_splits("random", 50, groups=["a"] * 10 + [""] * 40)] == [(40, 5, 5)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "randm"}, "'randm'.* random, stratified"),
        ({"kind": "scaffold"}, "'scaffold' .*molecules"),
        ({"kind": "stratified"}, "'stratified' .*labels"),
        ({"kind": "column"}, "'column' .*column"),
        ({"kind": "random", "duplicates": "drop"}, "duplicates='drop'"),
        ({"kind": "random", "fractions": (0.8, 0.3, 0.1)}, "fractions=.*1"),
        ({"kind": "random", "fractions": (0.8, 0.2)}, "fractions=.*1"),
        ({"kind": "random", "fractions": (1.1, -0.2, 0.1)}, "fractions=.*1"),
        ({"kind": "random", "seed": -1}, "seed=-1"),
        ({"kind": "random", "n": 0}, "n=0"),
        ({"kind": "random", "n": 2}, "2 rows in 2 groups.*3 parts"),
        ({"kind": "random", "groups": [1]}, "20 rows.*groups of 1"),
        ({"kind": "folds", "count": 2}, "folds=2.* 3 .*20"),
    ],
)
def test_what_cannot_be_split_is_an_error(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make_splits(**{"n": 20, **options})


@pytest.mark.parametrize("kind", ["random", "scaffold", "folds"])
def test_canonical_smiles_give_the_split_of_the_molecules(kind: Any) -> None:
    spelled = [*SMILES, "CCc1ccccc1", "OCC", "CCO", "C(O)C", "C1CC1OO"]
    canonical = [Chem.MolToSmiles(Chem.MolFromSmiles(s)) for s in spelled]
    for seed in range(3):
        made = make_splits(kind, len(spelled), seed=seed, molecules=spelled)
        again = make_splits(kind, len(spelled), seed=seed, molecules=spelled, canonical=canonical)
        assert all(same(a, b) for a, b in zip(made, again, strict=True))


def test_half_of_the_validation_part_is_for_calibration() -> None:
    split = random_split(100, (0.6, 0.2, 0.2), 3)
    cut = split.with_calibration(7)
    assert (cut.sizes, len(cut)) == ((60, 10, 20, 10), 100)
    half = random_split(20, (0.5, 0.5, 0.0), 7)
    np.testing.assert_array_equal(cut.validation, split.validation[half.train])
    np.testing.assert_array_equal(cut.calibration, split.validation[half.validation])
    assert cut.with_calibration(8) is cut
    few = Split.of([0, 1])
    assert few.with_calibration(0) is few


def test_a_split_may_be_restricted_to_labelled_rows() -> None:
    mask = np.arange(100) % 3 > 0
    split = random_split(100, seed=3).labelled(mask).with_calibration(0)
    assert len(split) == mask.sum()
    assert all(mask[rows].all() for rows in split.parts.values())
    with pytest.raises(ConfigurationError, match="train"):
        split.labelled(np.zeros(100))


@pytest.mark.parametrize(
    ("given_parts", "message"),
    [
        (([0, 1], [1], [2]), "row 1 "),
        (([0, 1], [2], [], [1]), "row 1 "),
        (([0, 1], [3], []), r"row 2 .*0\.\.2"),
        (([0, -1], [], []), "row 0 "),
        (([], [0], [1]), "train"),
        (([0.5], [], []), "train"),
        (([[0]], [], []), "train"),
    ],
)
def test_a_split_is_checked_when_it_is_made(given_parts: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Split(*given_parts)


def test_saved_splits_come_back_and_only_for_their_data(tmp_path: Path) -> None:
    path = tmp_path / "splits.json"
    mutag = load("MUTAG")
    made = paper_splits(mutag.targets, 3)
    save_splits(path, made, mutag.graphs)
    assert set(json.loads(path.read_text())) == {"fingerprint", "splits"}
    # The same graphs in another form and with other features.
    pack = Pack.of(mutag.graphs)
    for data in (mutag.graphs, pack, pack.with_features(np.ones((3371, 1)))):
        assert all(same(a, b) for a, b in zip(load_splits(path, data), made, strict=True))
    for wrong in (pack[:-1], pack.select(np.arange(188)[::-1])):
        with pytest.raises(ConfigurationError):
            load_splits(path, wrong)
    save_splits(path, [random_split(len(SMILES))], SMILES)
    assert load_splits(path, SMILES)[0].sizes == random_split(len(SMILES)).sizes
    with pytest.raises(ConfigurationError):
        load_splits(path, [*SMILES[1:], SMILES[0]])
    assert fingerprint(["CC", "O"]) != fingerprint(["C", "CO"])
    cut = random_split(len(SMILES), (0.4, 0.4, 0.2)).with_calibration(0)
    save_splits(path, [cut, random_split(len(SMILES))], SMILES)
    written = json.loads(path.read_text())["splits"]
    assert ["calibration" in split for split in written] == [True, False]
    assert load_splits(path, SMILES)[0].calibration.tolist() == cut.calibration.tolist()


def test_a_full_disk_leaves_the_older_splits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(handle: int) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "splits.json"
    path.write_text("older")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(FileError, match=r"splits\.json"):
        save_splits(path, [random_split(len(SMILES))], SMILES)
    assert path.read_text() == "older"


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"fingerprint": "", "splits": [{"train": [0]}]}', '{"fingerprint": "", "splits": [3]}']
)
def test_what_is_no_file_of_splits_is_an_error(text: str, tmp_path: Path) -> None:
    path = tmp_path / "splits.json"
    with pytest.raises(ConfigurationError, match=r"splits\.json"):
        load_splits(path, ["C"])
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=r"splits\.json.*save_splits"):
        load_splits(path, ["C"])
    path.write_text('{"fingerprint": "x", "splits": [{"train": [0, 0], "validation": [], "test": []}]}')
    with pytest.raises(ConfigurationError, match="row 0 "):
        load_splits(path, [Graph([], n=1)])

"""The data of a run: what is read, how it is split, and what cannot be learned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ccn.errors import ConfigurationError, DataError
from ccn.runs.config import resolve
from ccn.runs.data import divide, read_data


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("data") / "t.csv"
    kinds = ["a", "b", "a", "b", "b"]
    lines = [f"{'C' * (i + 1)}O,{i}.5,{kinds[i % 5]},x,{i % 3},{i % 2 + 1}\n" for i in range(40)]
    path.write_text("smiles,y,kind,same,p,q\n" + "".join(lines))
    return str(path)


def test_a_regression_reserves_rows_for_calibration(table: str) -> None:
    config = resolve(table, {"data": {"target_columns": ["y"]}, "splitting": {"fractions": (0.5, 0.25, 0.25)}})
    split, examples = divide(read_data(config), config)
    assert examples.sizes == {"train": 20, "validation": 5, "calibration": 5}
    assert len(split.test) == 10


def test_classes_are_stratified(table: str) -> None:
    given: dict[str, dict[str, Any]] = {
        "data": {"target_columns": ["kind"]},
        "splitting": {"fractions": (0.5, 0.25, 0.25)},
    }
    config = resolve(table, given)
    split, examples = divide(read_data(config), config)
    assert examples.sizes["calibration"] == 0
    for rows in (split.train, split.validation, split.test):
        assert np.mean(examples.targets[rows] == 1) == pytest.approx(0.6)


@pytest.mark.parametrize(("targets", "fact"), [(["same"], "'same'.*'x'"), (["p", "q"], "--target")])
def test_what_cannot_be_learned_is_named(table: str, targets: list[str], fact: str) -> None:
    config = resolve(table, {"data": {"target_columns": targets, "task": "classification"}})
    with pytest.raises(DataError, match=fact):
        read_data(config)


def test_a_split_by_column_needs_the_column(table: str) -> None:
    config = resolve(table, {"data": {"target_columns": ["y"]}, "splitting": {"split": "column"}})
    with pytest.raises(ConfigurationError, match="--split-column"):
        divide(read_data(config), config)


def test_a_table_with_several_candidates_needs_a_target(table: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"y, p, q.*ccn train {table} --target y.*--target all"):
        read_data(resolve(table, {}))
    assert read_data(resolve(table, {"data": {"target_columns": ["all"]}})).target_names == ("y", "p", "q")
    # A column with another meaning is no candidate.
    more = {"data": {"weight_column": "q", "group_column": "p"}}
    data = read_data(resolve(table, more))
    assert data.target_names == ("y",)
    assert "'y'" in data.note


def test_a_column_may_be_called_all(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("smiles,all,y\n" + "".join(f"{'C' * (i + 1)},{i}.5,{i}.25\n" for i in range(20)))
    config = resolve(str(tmp_path / "t.csv"), {"data": {"target_columns": ["all"]}})
    assert read_data(config).target_names == ("all",)


def test_graphs_keep_all_targets(tmp_path: Path) -> None:
    lines = [f'{{"edges": [[0, 1]], "target": {{"a": {i}.5, "b": {i}.25}}}}\n' for i in range(20)]
    (tmp_path / "t.jsonl").write_text("".join(lines))
    for named in ([], ["all"]):
        config = resolve(str(tmp_path / "t.jsonl"), {"data": {"target_columns": named}})
        assert read_data(config).target_names == ("a", "b")


def test_folds_are_by_scaffold_where_the_split_is_and_the_method_has_folds(tmp_path: Path) -> None:
    rings = ["c1ccccc1", "C1CC1", "C1CCCC1", "C1CCCCC1", "c1ccncc1", "C1CCC1"]
    path = tmp_path / "t.csv"
    path.write_text("smiles,y\n" + "".join(f"{ring}{'C' * n},{n}.5\n" for ring in rings for n in range(5)))
    for method, split, groups in (("auto", "scaffold", 6), ("auto", "random", 30), ("ccn", "scaffold", None)):
        config = resolve(str(path), {"splitting": {"split": split}}, method=method)
        _, examples = divide(read_data(config), config)
        assert (None if examples.groups is None else len(set(examples.groups.tolist()))) == groups


def test_a_molecule_in_two_parts_is_named_by_the_rows_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("smiles,y,part\nC(,1,train\nCCO,1.5,train\nCCN,2.5,train\nOCC,3.5,test\nCC,4.5,test\n")
    splitting = {"duplicates": "together"}
    config = resolve(str(path), {"data": {"target_columns": ["y"], "split_column": "part"}, "splitting": splitting})
    with pytest.raises(ConfigurationError, match=r"rows 2 and 4\b"):
        divide(read_data(config), config)
    path.write_text("smiles,y,part\nC(,1,train\nCCO,1.5,train\nCCN,2.5,tset\n")
    with pytest.raises(ConfigurationError, match="row 3 says 'tset'"):
        divide(read_data(config), config)

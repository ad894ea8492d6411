"""The splits of every protocol: of made-up data with the sizes of the published ones, and of the files themselves."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from ccn.datasets import load
from ccn.datasets.splits import paper_splits
from ccn.errors import DataError
from ccn.paper.protocols import PROTOCOLS


def test_the_ten_splits_are_those_of_the_paper() -> None:
    data = load("MUTAG")
    expected = paper_splits(data.targets[:, 0])[3]
    found = PROTOCOLS["MUTAG"].split(data, 3)
    for part in ("train", "validation", "test"):
        np.testing.assert_array_equal(getattr(found, part), getattr(expected, part))


def test_published_folds_fix_the_test_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CCN_DATA", str(tmp_path))
    monkeypatch.setenv("CCN_CACHE", str(tmp_path / "cache"))
    data, protocol = load("MUTAG"), PROTOCOLS["MUTAG 5 folds"]
    with pytest.raises(DataError, match=r"ccn_folds\.json"):
        protocol.split(data, 0)
    folds = [list(range(i, 188, 5)) for i in range(5)]
    (tmp_path / "ccn_folds.json").write_text(json.dumps({"MUTAG": folds}))
    for i in range(protocol.count):
        split = protocol.split(data, i)
        assert split.test.tolist() == folds[i]
        assert len(split.validation) == pytest.approx((188 - len(folds[i])) / 8, abs=1)
        share = data.targets[split.validation].mean() - data.targets[split.train].mean()
        assert abs(share) < 0.05
    (tmp_path / "nci1_folds").mkdir()
    chosen = [{"train": list(range(100)), "validation": list(range(100, 150))}]
    fold = {"test": list(range(150, 188)), "model_selection": chosen}
    (tmp_path / "nci1_folds" / "folds.json").write_text(json.dumps([fold]))
    assert PROTOCOLS["NCI1 10 folds"].split(data, 0).sizes == (100, 50, 38)


def test_zinc_has_its_own_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CCN_DATA", str(tmp_path))
    rows = ["CCO,0.5,train", "CCN,0.4,train", "CCC,1.5,val", "CCCC,2.5,test"]
    (tmp_path / "zinc").mkdir()
    text = "\n".join(["smiles,penalised_logp,split", *rows, ""])
    (tmp_path / "zinc" / "zinc12k.csv.gz").write_bytes(gzip.compress(text.encode()))
    data = PROTOCOLS["ZINC"].read(features="element", progress=False)
    split = PROTOCOLS["ZINC"].split(data, 2)
    assert (data.targets[:, 0].tolist(), split.sizes) == ([0.5, 0.4, 1.5, 2.5], (2, 1, 1))

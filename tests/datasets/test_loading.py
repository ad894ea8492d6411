"""One function for every source: names, paths, options, and what importing it costs."""

import subprocess
import sys
from pathlib import Path

import pytest

from ccn import datasets
from ccn.datasets import load, options_of
from ccn.errors import CCNError, ConfigurationError


def test_importing_data_sets_loads_no_heavy_package() -> None:
    heavy = {"torch", "llvmlite", "rdkit", "sklearn", "scipy", "networkx", "joblib", "rich"}
    code = f"import ccn.datasets, sys; print(*{heavy} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert not done.stdout.split()


def test_options_are_those_of_the_reader(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("smiles,y\nC,1.5\n")
    assert {"smiles_column", "features", "strict"} <= options_of(tmp_path / "t.csv")
    assert {"target", "strict"} <= options_of("MUTAG")
    assert "features" not in options_of("MUTAG")
    with pytest.raises(ConfigurationError, match=r"'features'.*target"):
        load("MUTAG", features="atoms")


def test_features_given_as_an_object_take_hydrogens(tmp_path: Path) -> None:
    from ccn.features import molecule_features

    (tmp_path / "t.csv").write_text("smiles,y\nC,1.5\n")
    assert load(tmp_path / "t.csv", features=molecule_features("atoms"), hydrogens=True).pack.sizes.tolist() == [5]


def test_what_is_no_data_set_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(CCNError, match=r"nowhere.*MUTAG"):
        datasets.load("nowhere")
    with pytest.raises(CCNError, match=tmp_path.name):
        datasets.load(tmp_path)
    (tmp_path / "broken.zip").write_text("not a zip")
    with pytest.raises(CCNError, match=r"broken\.zip"):
        datasets.load(tmp_path / "broken.zip")

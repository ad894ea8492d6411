"""Columns of a table of molecules: named, or detected."""

from pathlib import Path

import pytest

from ccn.datasets.schema import find_schema
from ccn.datasets.tables import open_table
from ccn.errors import ConfigurationError, DataError


def test_columns_are_found_by_name_and_by_inspection(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("CCO,1.5\nC,2\n")
    assert find_schema(open_table(path)).smiles == "column 1"
    path.write_text("index,code,compound,dose,class\n" + "".join(f"{i},A{i},{'C' * i}O,{i}.5,x\n" for i in range(1, 9)))
    schema = find_schema(open_table(path))
    assert (schema.smiles, schema.targets, schema.id) == ("compound", ("dose",), "index")
    path.write_text("Canonical_SMILES,note,active\n" + "".join(f"C{'C' * i},n{i},{'yn'[i % 2]}\n" for i in range(8)))
    schema = find_schema(open_table(path))
    assert (schema.smiles, schema.targets, schema.words) == ("Canonical_SMILES", ("active",), frozenset({"active"}))
    assert find_schema(open_table(path), target_columns="ACTIVE").targets == ("active",)
    with pytest.raises(ConfigurationError, match=r"no column 'actve'.*'active'"):
        find_schema(open_table(path), target_columns=["actve"])
    path.write_text("a,b\nhello there,1\nwhat now,2\n")
    with pytest.raises(DataError, match="smiles_column"):
        find_schema(open_table(path))

"""Training rows and their values: written, read, refused."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ccn.errors import FileError
from ccn.learning.measured import FILE, Measured
from ccn.learning.task import Task

CLASSES = Task("multilabel", ("a", "b, c"), classes=("no", "yes"))
Y = np.array([[0.0, 1.0], [np.nan, 0.0], [1.0, 1.0]])


@pytest.fixture
def made() -> Measured:
    return Measured.of(np.array([2, 1]), CLASSES, Y, ["C", "CC", 'C"C\n'])


def test_values_are_as_measured(made: Measured) -> None:
    assert made.values == (("yes", "yes"), ("", "no"))
    assert made.smiles == ('C"C\n', "CC")
    numbers = Measured.of(np.arange(2), Task("regression", ("a", "b")), np.array([[1.5, 1e-9], [2, np.nan]]), None)
    assert numbers.values == (("1.5", "1e-09"), ("2", ""))
    assert numbers.smiles == ()


@pytest.mark.parametrize("names", [(), ("first", "second")])
@pytest.mark.parametrize("smiles", [(), ("C", "CC")])
def test_what_is_written_is_read_and_bytes_repeat(
    made: Measured, names: tuple[str, ...], smiles: tuple[str, ...], tmp_path: Path
) -> None:
    made = replace(made, names=names, smiles=smiles)
    path = tmp_path / FILE
    made.write(path)
    raw = path.read_bytes()
    again = Measured.read(path, made.targets, made.digest())
    assert (again.row.tolist(), again.names, again.smiles, again.values) == ([2, 1], names, smiles, made.values)
    again.write(path)
    assert path.read_bytes() == raw


def test_other_files_are_refused(made: Measured, tmp_path: Path) -> None:
    path = tmp_path / FILE
    made.write(path)
    raw = path.read_bytes()
    for wrong in (b"", b"no gzip", raw[:-12], raw[:15] + b"\xff\xff" + raw[17:], gzip.compress(b"\xff\xfe")):
        path.write_bytes(wrong)
        with pytest.raises(FileError):
            Measured.read(path, made.targets, made.digest())
    replace(made, row=made.row + 1).write(path)
    with pytest.raises(FileError):
        Measured.read(path, made.targets, made.digest())
    for text in ("", "row,a\n1,2\n", 'row,a,"b, c"\n1,2\n', 'row,a,"b, c"\nx,2,3\n'):
        with pytest.raises(ValueError, match=r".*"):
            Measured.from_text(text, made.targets)

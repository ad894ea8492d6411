"""Compiled functions, and where their code is kept: in a folder of ours alone, since what is read there is run."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from ccn.engine.cpu import compiling
from ccn.engine.cpu.compiling import Structure, compiled, when_compiling

KERNEL = """
import sys
import numpy as np
from ccn.engine.cpu.compiling import compiled, kept_kernels, kernel_folder

def one(x) -> None:
    x[0] += 1

before, x = kept_kernels(), np.ones(1)
compiled(one)(x)
assert x[0] == 2
print(kernel_folder(), before, kept_kernels())
"""


def _compile(script: Path, **environment: str) -> tuple[Path, bool, bool]:
    there = {k: v for k, v in os.environ.items() if k != "CCN_KERNELS"} | environment
    done = subprocess.run([sys.executable, "-W", "ignore", str(script)], env=there, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    folder, before, after = done.stdout.split()
    return Path(folder), before == "True", after == "True"


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_a_shared_folder_of_compiled_code_is_not_used(tmp_path: Path) -> None:
    script, cache = tmp_path / "kernel.py", tmp_path / "cache"
    script.write_text(KERNEL)
    folder, before, after = _compile(script, CCN_CACHE=str(cache))
    assert folder.is_relative_to(cache)
    assert (before, after) == (False, True)
    assert _compile(script, CCN_KERNELS=str(cache)) == (folder, True, True)
    folder.chmod(0o777)  # now anybody may have put files there
    other, before, after = _compile(script, CCN_KERNELS=str(cache))
    assert not other.is_relative_to(cache)
    assert (before, after) == (False, True)
    assert not other.exists()  # removed at the end of the process


def _two(x: Any) -> None:
    x[0] += 2


def _added(f: Any) -> float:
    x = np.ones(1)
    f(x)
    return float(x[0])


def test_code_that_cannot_be_kept_or_is_damaged_is_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "kernel_folder", lambda: str(tmp_path))

    def fail(*words: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(Path, "replace", fail)
        assert _added(compiled(_two)) == 3
    assert not list(tmp_path.iterdir())
    assert _added(compiled(_two)) == 3
    (kept,) = tmp_path.iterdir()
    whole = kept.read_bytes()
    for content in (b"", b"half", whole[:-1], whole[:-1] + b"x"):  # as after a crash of the machine
        kept.write_bytes(content)
        assert _added(compiled(_two)) == 3
        assert kept.read_bytes() == whole


def test_what_is_compiled_is_said_once_and_what_is_read_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "kernel_folder", lambda: str(tmp_path))
    said: list[str] = []
    for _ in range(2):
        with when_compiling(lambda: said.append("compiling")):
            _added(compiled(_two))
            compiled(_two)(np.ones(1, np.float32))
        assert said == ["compiling"]
    with when_compiling(lambda: said.append("again")):
        pass
    compiled(_two)(np.ones(1, np.int32))
    assert said == ["compiling"]


class _Fields(NamedTuple):
    rows: Any
    many: int


class _Outer(NamedTuple):
    inner: _Fields
    table: Any


def _sum(of: _Outer, out: Any) -> None:
    for i in range(of.inner.many):
        for j in range(of.table.shape[1]):
            out[0] += of.inner.rows[i] * of.table[i, j]


def test_named_tuples_of_arrays_are_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(compiling, "kernel_folder", lambda: str(tmp_path))
    rng, out = np.random.default_rng(0), np.zeros(1)
    rows, table = rng.integers(-9, 9, 4).astype(np.int32), rng.normal(size=(5, 3))
    of = _Outer(_Fields(rows, 4), table)
    run = compiled(_sum)
    run(of, out)
    run(Structure(of), out)
    run(pickle.loads(pickle.dumps(Structure(of))), out)
    np.testing.assert_allclose(out[0], 3 * (rows[:, None] * table[:4]).sum())
    with pytest.raises(ValueError, match="order of C"):
        run(_Outer(_Fields(rows, 4), table.T), out)

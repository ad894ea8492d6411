"""Where compiled code is kept: in a folder of ours alone, since reading it runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ccn.engine.cpu import compiling

KERNEL = """
import sys
from ccn.engine.cpu.compiling import compiled, kept_kernels, kernel_folder

def one(x):
    return x + 1

before = kept_kernels()
assert compiled(one)(1) == 2
print(kernel_folder(), before, kept_kernels())
"""


def _compile(script: Path, **environment: str) -> tuple[Path, bool, bool]:
    there = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"} | environment
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
    assert _compile(script, NUMBA_CACHE_DIR=str(cache)) == (folder, True, True)
    folder.chmod(0o777)  # now anybody may have put files there
    other, before, after = _compile(script, NUMBA_CACHE_DIR=str(cache))
    assert not other.is_relative_to(cache)
    assert (before, after) == (False, True)
    assert not other.exists()  # removed at the end of the process


def _two(x: int) -> int:
    return x + 2


def test_code_that_cannot_be_kept_or_is_damaged_is_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "kernel_folder", lambda: str(tmp_path))

    def fail(*words: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(os, "replace", fail)
        assert compiling.compiled(_two)(1) == 3
    assert compiling.compiled(_two)(1) == 3
    (kept,) = tmp_path.rglob("*.nbi")
    for content in (b"", b"half"):  # as after a crash of the machine
        kept.write_bytes(content)
        assert compiling.compiled(_two)(1) == 3
        assert kept.read_bytes() != content

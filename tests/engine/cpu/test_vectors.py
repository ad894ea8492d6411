"""Where compiled code is kept: in a folder of ours alone, since reading it runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

KERNEL = """
import sys
from ccn.engine.cpu.vectors import _folder, compiled, kept_kernels

def one(x):
    return x + 1

before = kept_kernels()
assert compiled(one)(1) == 2
print(_folder(), before, kept_kernels())
"""


def _compile(script: Path, **environment: str) -> tuple[Path, bool, bool]:
    there = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"} | environment
    done = subprocess.run([sys.executable, "-W", "ignore", str(script)], env=there, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    folder, before, after = done.stdout.split()
    return Path(folder), before == "True", after == "True"


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
@pytest.mark.parametrize("variable", ["CCN_CACHE", "NUMBA_CACHE_DIR"])
def test_a_shared_folder_of_compiled_code_is_not_used(variable: str, tmp_path: Path) -> None:
    script, cache = tmp_path / "kernel.py", tmp_path / "cache"
    script.write_text(KERNEL)
    folder, before, after = _compile(script, **{variable: str(cache)})
    assert folder.is_relative_to(cache)
    assert (before, after) == (False, True)
    assert _compile(script, **{variable: str(cache)}) == (folder, True, True)
    folder.chmod(0o777)  # now anybody may have put files there
    other, before, after = _compile(script, **{variable: str(cache)})
    assert not other.is_relative_to(cache)
    assert (before, after) == (False, True)
    assert not other.exists()  # removed at the end of the process

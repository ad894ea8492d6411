from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from labelled import labelled

import ccn
from ccn.methods.kernels import WL, MultiscaleLaplacian
from ccn.methods.kernels.store import gram_path, stored_gram

PACK = ccn.Pack.of(labelled(20))


def test_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = stored_gram(WL(2), PACK)
    np.testing.assert_allclose(first, WL(2).gram(PACK), atol=1e-6)
    monkeypatch.setattr(WL, "see", None)
    np.testing.assert_array_equal(stored_gram(WL(2), PACK.select(np.arange(20))), first)


def test_every_difference_counts() -> None:
    fitted = MultiscaleLaplacian(1).fit(PACK)
    other = MultiscaleLaplacian(1).fit(PACK.select([0, 1, 2]))
    paths = [
        gram_path(WL(2), PACK),
        gram_path(WL(3), PACK),
        gram_path(WL(2), PACK, normalise=False),
        gram_path(WL(2), PACK.select([1, 2])),
        gram_path(fitted, PACK),
        gram_path(other, PACK),
    ]
    assert len(set(paths)) == len(paths)


def test_half_a_file_is_made_anew() -> None:
    first = np.array(stored_gram(WL(2), PACK))
    path = gram_path(WL(2), PACK)
    path.write_bytes(path.read_bytes()[:100])
    np.testing.assert_array_equal(stored_gram(WL(2), PACK), first)
    assert not list(path.parent.glob("*.part"))


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CCN_CACHE", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="CCN_CACHE"):
        assert stored_gram(WL(1), PACK).shape == (20, 20)


@pytest.mark.slow
def test_who_comes_second_waits_and_computes_nothing(tmp_path: Path) -> None:
    code = """
import time
from labelled import labelled
import ccn
from ccn.methods.kernels import WL
from ccn.methods.kernels.store import stored_gram
pack, see = ccn.Pack.of(labelled(20)), WL.see
def slow(self, graphs):
    print("computed", flush=True)
    time.sleep(2)
    return see(self, graphs)
WL.see = slow
stored_gram(WL(2), pack)
"""

    def start() -> subprocess.Popen[bytes]:
        paths = os.pathsep.join(p for p in sys.path if p)
        environment = {**os.environ, "CCN_CACHE": str(tmp_path / "cache"), "PYTHONPATH": paths}
        return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment)

    both = [start(), start()]
    said = [process.communicate(timeout=120)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert b"".join(said).count(b"computed") == 1
    assert {p.suffix for p in (tmp_path / "cache" / "grams").iterdir()} == {".lock", ".npy"}

"""What every kernel must be: symmetric, positive semidefinite, blind to numberings, the same for parts of a pack."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from labelled import labelled, permuted

import ccn
from ccn.errors import ConfigurationError
from ccn.methods.kernels import (
    WL,
    Graphlet,
    Kernel,
    MultiscaleLaplacian,
    PartKinds,
    RandomWalk,
    ShortestPath,
    WLEdge,
    WLOptimalAssignment,
)
from ccn.methods.kernels.kernel import gram_path, stored_gram

KERNELS: list[Kernel[Any]] = [
    WL(3),
    WLEdge(3),
    WLOptimalAssignment(3),
    ShortestPath(),
    Graphlet(3),
    Graphlet(4),
    Graphlet(4, connected=True),
    RandomWalk(3),
    MultiscaleLaplacian(levels=2, anchors=40),
    PartKinds(order=1),
    PartKinds(order=2, levels=2, counted=False),
]
PACK = ccn.Pack.of(labelled(30))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_gram_matrices(kernel: Kernel[Any]) -> None:
    fitted = kernel.fit(PACK)
    raw, k = fitted.gram(PACK, normalise=False), fitted.gram(PACK)
    np.testing.assert_allclose(k, k.T, atol=1e-10)
    assert np.linalg.eigvalsh(k)[0] > -1e-9
    square = np.diag(raw)
    np.testing.assert_allclose(np.diag(k), square > 0, atol=1e-10)
    there = square > 0
    length = np.sqrt(square[there])
    np.testing.assert_allclose(k[np.ix_(there, there)], raw[np.ix_(there, there)] / np.outer(length, length))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_numberings_do_not_count(kernel: Kernel[Any]) -> None:
    other = ccn.Pack.of(permuted(labelled(30)))
    np.testing.assert_allclose(kernel.fit(other).gram(other), kernel.fit(PACK).gram(PACK), atol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_graphs_are_seen_one_by_one(kernel: Kernel[Any]) -> None:
    fitted, whole = kernel.fit(PACK), kernel.fit(PACK).gram(PACK)
    rows, columns = [3, 17, 5], [0, 29, 8, 8]
    part = fitted.gram(PACK.select(rows), [PACK[i] for i in columns])
    np.testing.assert_allclose(part, whole[np.ix_(rows, columns)], atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_state_comes_back(kernel: Kernel[Any]) -> None:
    fitted = kernel.fit(PACK)
    again = type(kernel)(**fitted.settings()).with_state(fitted.state())
    np.testing.assert_array_equal(again.gram(PACK.select([1]), PACK), fitted.gram(PACK.select([1]), PACK))


def test_two_sides_need_common_anchors() -> None:
    with pytest.raises(ConfigurationError):
        MultiscaleLaplacian().gram(PACK, PACK)


def test_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = stored_gram(WL(2), PACK)
    np.testing.assert_allclose(first, WL(2).gram(PACK), atol=1e-6)
    monkeypatch.setattr(WL, "see", None)
    np.testing.assert_array_equal(stored_gram(WL(2), PACK.select(np.arange(30))), first)


def test_every_difference_counts() -> None:
    fitted = MultiscaleLaplacian(1).fit(PACK)
    other = MultiscaleLaplacian(1).fit(PACK.select([0, 1, 2]))
    paths = [
        gram_path(WL(2), PACK),
        gram_path(WL(3), PACK),
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
        assert stored_gram(WL(1), PACK).shape == (30, 30)


@pytest.mark.slow
def test_who_comes_second_waits_and_computes_nothing(tmp_path: Path) -> None:
    code = """
import time
from labelled import labelled
import ccn
from ccn.methods.kernels import WL
from ccn.methods.kernels.kernel import stored_gram
pack, see = ccn.Pack.of(labelled(30)), WL.see
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


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (WL, "depth"),
        (WLEdge, "depth"),
        (RandomWalk, "steps"),
        (Graphlet, "size"),
        (MultiscaleLaplacian, "levels"),
        (PartKinds, "order"),
    ],
)
def test_every_setting_has_a_bound(kind: type[Kernel[Any]], name: str) -> None:
    for value in (-1, 10**9, "3", True, None, 1.5, float("nan")):
        with pytest.raises(ConfigurationError, match=name):
            kind(**{name: value})

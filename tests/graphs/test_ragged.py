"""Ragged arrays, and the cache of what is built from them."""

import numpy as np
import torch

from ccn.graphs.ragged import Cache, Ragged, ranges, small, starts


def test_starts_and_ranges() -> None:
    count = np.array([2, 0, 3])
    assert starts(count).tolist() == [0, 2, 2, 5]
    assert ranges(np.array([7, 1, 0]), count).tolist() == [7, 8, 0, 1, 2]
    assert [small(np.array([n])).dtype for n in (255, 256, 2**17)] == [np.uint8, np.uint16, np.uint32]
    assert small(np.array([], dtype=np.int64)).dtype == np.uint8


def test_a_value_is_built_once_and_never_in_inference_mode() -> None:
    cache = Cache()
    with torch.inference_mode():
        first = cache("key", lambda: torch.ones(1))
    assert not first.is_inference()
    assert cache("key", lambda: torch.zeros(1)) is first


def test_a_value_of_tensors_is_built_again_when_one_changes_or_is_replaced() -> None:
    cache, source = Cache(), torch.ones(2)

    def current(*sources: torch.Tensor) -> torch.Tensor:
        built: torch.Tensor = cache.current("key", sources, lambda: torch.cat(sources).sum())
        return built

    first = current(source)
    assert current(source) is first
    source.add_(1)
    assert current(source) == 4
    assert current(source.clone()) == 4
    assert current(source, source) == 8
    with torch.inference_mode():
        made = torch.ones(1)
    assert cache.current("other", [made], object) is not cache.current("other", [made], object)


def test_groups_of_rows_are_indexed_by_their_numbers() -> None:
    r = Ragged(np.array([[1.0, 5.0], [2.0, 6.0], [3.0, np.nan]]), starts([1, 0, 2]))
    assert (len(r), r.shape, r.ndim, r.counts.tolist()) == (3, (3, 2), 2, [1, 0, 2])
    assert r[[2, 0]][:, 0].tolist() == [2, 3, 1]
    assert r[np.array([True, False, False])].tolist() == [[1, 5]]
    assert len(r.select([1, 2])) == 2
    assert r.columns([1]).values[:, 0].tolist()[:2] == [5, 6]
    assert r.any(np.isnan(np.asarray(r)).any(1)).tolist() == [False, False, True]
    assert Ragged.join(r, r)[[3]].tolist() == [[1, 5]]

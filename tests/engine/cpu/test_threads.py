"""The same work by PyTorch's threads and by Python's."""

from threading import Lock
from typing import Any

import pytest
import torch

from ccn.engine.cpu import threads


@pytest.fixture(params=["PyTorch's", "Python's"], autouse=True)
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "Python's":
        monkeypatch.setattr(threads, "_parallel", lambda: None)
    elif threads._parallel() is None:
        pytest.skip("PyTorch does not share its threads here")


@pytest.mark.parametrize("count", [1, 2, 3])
def test_each_thread_has_a_number(count: int) -> None:
    numbers: list[int] = []
    threads.together(count, numbers.append)
    assert sorted(numbers) == list(range(len(numbers)))
    assert 1 <= len(numbers) <= count


def test_threads_share_what_is_left() -> None:
    left, lock, done = iter(range(1000)), Lock(), []

    def work(_: int) -> None:
        while True:
            with lock:
                i = next(left, None)
            if i is None:
                return
            done.append(float(torch.full((10,), float(i)).sum()))

    threads.together(2, work)
    assert sorted(done) == [10.0 * i for i in range(1000)]


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_an_error_reaches_the_caller(error: BaseException) -> None:
    def work(_: int) -> Any:
        raise error

    with pytest.raises(type(error)):
        threads.together(2, work)
    threads.together(2, lambda _: None)  # and the threads can be used again

"""A real process: what it cannot do is refused, and one that takes too long or dies is lost."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ccn.serving import answers, worker
from ccn.serving.worker import LostError, RefusedError, TooLongError, Worker


def test_a_process_refuses_is_ended_and_is_started_again() -> None:
    async def run() -> None:
        process = Worker()
        await process.start()
        task = {"do": "predict", "name": "m", "key": "none", "molecules": [], "text": "\ud800 \u202e"}
        with pytest.raises(RefusedError):
            await process.ask(task)
        with pytest.raises(RefusedError, match="internal error"):
            await process.ask({"do": "nothing"})
        assert process.alive
        with pytest.raises(TooLongError):
            await process.ask(task, 0.0)
        assert not process.alive
        with pytest.raises(LostError):
            await process.ask(task)
        await process.stop()

    asyncio.run(run())


def test_a_model_may_have_two_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "load", lambda path, training: path)
    monkeypatch.setattr(answers, "describe", lambda model: {"model": model})
    held: Any = {}
    for key in ("1", "2", "3"):
        for name in ("a", "b"):
            task = {"do": "load", "name": name, "key": key, "path": f"file {key}", "training": True}
            assert worker._carry_out(held, task, lambda done: None) == {"model": f"file {key}"}
    assert held == {name: {"2": "file 2", "3": "file 3"} for name in ("a", "b")}

"""A real process: what it cannot do is refused, and one that takes too long or dies is lost."""

from __future__ import annotations

import asyncio

import pytest

from ccn.serving.worker import LostError, RefusedError, TooLongError, Worker


def test_a_process_refuses_is_ended_and_is_started_again() -> None:
    async def run() -> None:
        worker = Worker()
        await worker.start()
        task = {"do": "predict", "key": "none", "molecules": [], "text": "\ud800 \u202e"}
        with pytest.raises(RefusedError):
            await worker.ask(task)
        with pytest.raises(RefusedError, match="internal error"):
            await worker.ask({"do": "nothing"})
        assert worker.alive
        with pytest.raises(TooLongError):
            await worker.ask(task, 0.0)
        assert not worker.alive
        with pytest.raises(LostError):
            await worker.ask(task)
        await worker.stop()

    asyncio.run(run())

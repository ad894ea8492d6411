"""Which requests go together, which goes first, and what happens when a process fails; processes are stubs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from ccn.serving import pool as module
from ccn.serving.limits import Limits
from ccn.serving.metrics import Metrics
from ccn.serving.pool import BusyError, Pool
from ccn.serving.worker import LostError, RefusedError


class Stub:
    """A process that answers with the SMILES it was given, when it is let."""

    asked: list[dict[str, Any]]
    gate: asyncio.Event

    def __init__(self) -> None:
        self.alive, self.starts = False, 0

    async def start(self) -> None:
        self.alive, self.starts = True, self.starts + 1

    async def stop(self) -> None:
        self.alive = False

    async def ask(self, task: Mapping[str, Any], seconds: float = 0) -> Any:
        if task["do"] == "load":
            if task["key"] == "bad":
                raise RefusedError("not a model")
            return {"key": task["key"]}
        self.asked.append(dict(task))
        await self.gate.wait()
        smiles = [row["smiles"] for row in task["molecules"]]
        if "dies" in smiles or ("killed once" in smiles and len(self.asked) == 1):
            self.alive = False
            raise LostError("died")
        if "refused" in smiles:
            raise RefusedError("no")
        return [{"smiles": s, "key": task["key"]} for s in smiles]


def carry_out(
    test: Callable[[Pool], Awaitable[None]], monkeypatch: pytest.MonkeyPatch, count: int = 1, **limits: Any
) -> type[Stub]:
    async def run() -> None:
        Stub.asked, Stub.gate = [], asyncio.Event()
        pool = Pool(count, Limits(**limits), Metrics())
        await pool.start()
        await pool.load("m", "one", "path", True)
        await test(pool)
        await pool.close()

    monkeypatch.setattr(module, "Worker", Stub)
    asyncio.run(run())
    return Stub


def rows(*smiles: str) -> list[dict[str, Any]]:
    return [{"smiles": s} for s in smiles]


async def begun(pool: Pool, *asked: tuple[str, list[dict[str, Any]]]) -> list[asyncio.Task[Any]]:
    made = []
    for kind, molecules in asked:
        made.append(asyncio.create_task(pool.ask(kind, "m", molecules)))
        await asyncio.sleep(0.01)
    return made


def sizes() -> list[int]:
    return [len(task["molecules"]) for task in Stub.asked]


def test_requests_that_wait_are_answered_together(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(pool: Pool) -> None:
        tasks = await begun(pool, *(("predict", rows(f"C{i}")) for i in range(5)))
        Stub.gate.set()
        found = await asyncio.gather(*tasks)
        assert [f.rows[0]["smiles"] for f in found] == [f"C{i}" for i in range(5)]

    carry_out(test, monkeypatch)
    assert sizes() == [1, 4]


def test_a_short_request_overtakes_a_long_one(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(pool: Pool) -> None:
        tasks = await begun(pool, ("predict", rows(*["C"] * 1000)), ("nearest", rows("N")))
        Stub.gate.set()
        assert len((await tasks[0]).rows) == 1000
        await tasks[1]

    carry_out(test, monkeypatch)
    assert sizes() == [256, 1, 256, 256, 232]


def test_only_the_culprit_of_a_batch_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(pool: Pool) -> None:
        asked = [("predict", rows(s)) for s in ("first", "C", "refused", "N", "dies")]
        tasks = await begun(pool, *asked)
        Stub.gate.set()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(f).__name__ for f in found] == ["Answered", "Answered", "RefusedError", "Answered", "LostError"]
        while not pool.workers[0].alive:
            await asyncio.sleep(0)
        assert pool.workers[0].starts == 3  # type: ignore[attr-defined]

    carry_out(test, monkeypatch)


def test_a_request_whose_process_is_killed_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(pool: Pool) -> None:
        (task,) = await begun(pool, ("predict", rows("killed once")))
        Stub.gate.set()
        assert (await task).rows[0]["smiles"] == "killed once"

    carry_out(test, monkeypatch)
    assert sizes() == [1, 1]


def test_explanations_leave_a_process_to_predictions(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(pool: Pool) -> None:
        tasks = await begun(pool, ("explain", rows("C", "N", "O")), ("explain", rows("F")), ("predict", rows("P")))
        assert [task["do"] for task in Stub.asked] == ["explain", "predict"]
        Stub.gate.set()
        await asyncio.gather(*tasks)

    carry_out(test, monkeypatch, count=2)


def test_who_waits_for_too_long_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(pool: Pool) -> None:
        tasks = await begun(pool, ("predict", rows("C")), ("predict", rows("N")), ("predict", rows("O")))
        with pytest.raises(BusyError):
            await tasks[2]
        with pytest.raises(BusyError):
            await tasks[1]
        assert pool.waiting == []
        Stub.gate.set()
        await tasks[0]

    carry_out(test, monkeypatch, seconds=0.05, waiting=1)


def test_a_version_answers_when_every_process_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(pool: Pool) -> None:
        tasks = await begun(pool, ("predict", rows("C")), ("predict", rows("N")))
        loading = asyncio.create_task(pool.load("m", "two", "path", True))
        await asyncio.sleep(0.01)
        assert not loading.done()
        Stub.gate.set()
        assert [(await task).version for task in tasks] == ["one", "two"] or (await tasks[1]).version == "one"
        assert await loading == {"key": "two"}
        assert (await pool.ask("predict", "m", rows("O"))).version == "two"
        with pytest.raises(RefusedError):
            await pool.load("m", "bad", "path", True)
        assert (await pool.ask("predict", "m", rows("O"))).version == "two"

    carry_out(test, monkeypatch, count=2)

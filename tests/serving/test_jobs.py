"""Uploads, carried out by a process that is a stub."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from ccn.serving import jobs as module
from ccn.serving.jobs import Job, Jobs, TooLargeError
from ccn.serving.limits import Limits
from ccn.serving.metrics import Metrics
from ccn.serving.pool import BusyError
from ccn.serving.worker import LostError, RefusedError


class Stub:
    """A process that writes a line for an answer."""

    failures: list[Exception]
    asked: list[dict[str, Any]]
    gate: asyncio.Event
    alive = False

    async def start(self) -> None:
        self.alive = True

    async def stop(self) -> None:
        self.alive = False

    async def ask(self, task: Mapping[str, Any], seconds: float, tell: Callable[[int], None]) -> Any:
        self.asked.append(dict(task))
        tell(1)
        await self.gate.wait()
        if self.failures:
            raise self.failures.pop(0)
        Path(task["output"]).write_text("answered")
        return {"rows": 2, "without": 1}


async def content(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


def carry_out(
    test: Callable[[Jobs], Awaitable[None]], folder: Path, monkeypatch: pytest.MonkeyPatch, **limits: Any
) -> None:
    async def run() -> None:
        Stub.asked, Stub.failures, Stub.gate = [], [], asyncio.Event()
        Stub.gate.set()
        jobs = Jobs(folder, Limits(**limits), Metrics(), {"m": "path"}.get)
        work = asyncio.create_task(jobs.work())
        await test(jobs)
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)

    monkeypatch.setattr(module, "Worker", Stub)
    monkeypatch.setattr(module, "_EVERY", 0.01)
    asyncio.run(run())


async def end(jobs: Jobs, name: str) -> Job:
    for _ in range(1000):
        found = jobs.find(name)
        assert found is not None
        if found.state in module.ENDED:
            return found
        await asyncio.sleep(0.01)
    raise AssertionError(found)


async def add(jobs: Jobs, *pieces: bytes) -> Job:
    return await jobs.add("m", "csv", "csv", content(*(pieces or (b"smiles\nC\nN\n",))), {"interval": None})


def test_a_job_is_carried_out_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(jobs: Jobs) -> None:
        job = await add(jobs)
        assert (job.state, job.rows) == ("waiting", 2)
        assert jobs.result(job.id) is None
        done = await end(jobs, job.id)
        assert (done.state, done.rows, done.without) == ("done", 2, 1)
        result = jobs.result(job.id)
        assert result is not None
        assert result.read_text() == "answered"

    carry_out(test, tmp_path, monkeypatch)


@pytest.mark.parametrize(("failures", "state", "times"), [(1, "done", 2), (3, "failed", 3)])
def test_a_job_whose_process_dies_is_begun_again(
    failures: int, state: str, times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test(jobs: Jobs) -> None:
        Stub.failures += [LostError("died")] * failures
        assert (await end(jobs, (await add(jobs)).id)).state == state
        assert len(Stub.asked) == times

    carry_out(test, tmp_path, monkeypatch)


def test_a_refused_job_says_why_without_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(jobs: Jobs) -> None:
        job = await add(jobs)
        Stub.gate.clear()
        Stub.failures.append(RefusedError(f"{tmp_path / job.id}/input.csv: no column"))
        Stub.gate.set()
        found = await end(jobs, job.id)
        assert (found.state, found.error) == ("failed", "input.csv: no column")

    carry_out(test, tmp_path, monkeypatch)


def test_a_server_that_was_killed_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / ("a" * 22)
    folder.mkdir()
    (folder / "input.csv").write_text("smiles\nC\nN\n")
    (folder / "output.csv.part").write_text("smiles,y_pred\n")
    (folder / "job.json").write_text(json.dumps({"id": folder.name, "model": "m", "state": "running", "created": 1.0}))
    (tmp_path / "other").mkdir()

    async def test(jobs: Jobs) -> None:
        assert (await end(jobs, folder.name)).state == "done"
        assert Stub.asked[0]["resume"] is True

    carry_out(test, tmp_path, monkeypatch, kept=10**9)


def test_a_cancelled_job_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(jobs: Jobs) -> None:
        Stub.gate.clear()
        first, second = await add(jobs), await add(jobs)
        while not Stub.asked:
            await asyncio.sleep(0.01)
        for job in (second, first):
            assert await jobs.cancel(job.id)
            assert not (tmp_path / job.id).exists()
        assert not await jobs.cancel(first.id)
        Stub.gate.set()
        assert (await end(jobs, (await add(jobs)).id)).state == "done"

    carry_out(test, tmp_path, monkeypatch)


def test_uploads_have_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(jobs: Jobs) -> None:
        for piece in (b"x" * 101, b"C\n" * 11):
            with pytest.raises(TooLargeError):
                await add(jobs, b"smiles\n", piece)
        assert list(tmp_path.iterdir()) == []
        Stub.gate.clear()
        await add(jobs)
        with pytest.raises(BusyError):
            await add(jobs)
        Stub.gate.set()

    carry_out(test, tmp_path, monkeypatch, upload=100, upload_rows=10, jobs=1)


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "../other", "a" * 21, "a" * 21 + "/", "a" * 22 + "\n"])
def test_a_name_that_was_not_drawn_is_no_job(name: str, tmp_path: Path) -> None:
    jobs = Jobs(tmp_path, Limits(), Metrics(), lambda model: None)
    assert jobs.find(name) is None
    assert jobs.result(name) is None
    assert not asyncio.run(jobs.cancel(name))


def test_old_jobs_and_broken_uploads_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(jobs: Jobs) -> None:
        job = await add(jobs)
        await end(jobs, job.id)
        broken = tmp_path / ("b" * 22)
        broken.mkdir()
        for _ in range(500):
            if not (tmp_path / job.id).exists() and not broken.exists():
                return
            await asyncio.sleep(0.01)
        raise AssertionError(sorted(tmp_path.iterdir()))

    carry_out(test, tmp_path, monkeypatch, kept=0.3 / 3600)

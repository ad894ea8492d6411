"""Make the n-th change that a process makes below a folder fail, or let the process die there.

Changes are files opened for writing, writes, fsyncs, renames, removals and new folders. They are counted where Python
calls the system: a large array is one write or several, as it is for the system.
"""

from __future__ import annotations

import builtins
import errno
import io
import json
import os
import re
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np

__all__ = ["DIED", "HOWS", "Ended", "Point", "in_child", "in_worker", "stop_clock"]

# Dies there; fails once; the disk is full from there on, so that only what needs no space succeeds.
HOWS = ("die", "fail", "full")
DIED = 137  # the exit code of a process that was killed
HUNG = 60.0  # seconds of processor time
PATIENCE = 1200.0  # seconds by the clock, on a busy machine
_FREE = ("rename", "unlink", "rmdir")  # need no space


@dataclass(frozen=True)
class Point:
    """One change: its kind and the file, relative to the folder."""

    kind: str
    path: str


@dataclass(frozen=True)
class Ended:
    """How a process ended: its exit code, what it said on standard error, and its changes as far as it came."""

    code: int
    said: str
    points: list[Point]


class _Faults:
    """Count changes below ``root``, and write them to a ``log``; let that with the number ``at`` (from 0) fail."""

    def __init__(self, root: Path, how: str, at: int, log: int | None = None) -> None:
        self.root, self.how, self.at, self.log = f"{root}{os.sep}", how, at, log
        self.points: list[Point] = []

    def below(self, path: Any, folder: int | None = None) -> str | None:
        """The path relative to the root, or None if it is elsewhere."""
        if isinstance(path, int):
            path = os.readlink(f"/proc/self/fd/{path}")
        path = os.fspath(path)
        path = os.fsdecode(path)
        if folder is not None:
            path = os.path.join(os.readlink(f"/proc/self/fd/{folder}"), path)
        path = os.path.abspath(path)
        inside = f"{path}{os.sep}".startswith(self.root)
        return os.path.relpath(path, self.root) if inside else None

    def step(self, kind: str, path: str, named: Any = None, half: Callable[[], Any] = lambda: None) -> None:
        """Count a change; at its turn, do half of it if that is possible, then die or raise the system's error."""
        now = len(self.points)
        self.points.append(Point(kind, path))
        if self.log is not None:
            self.write(self.log, f"{os.getpid()}\t{_line(self.points[-1])}".encode())
        if self.how == "full" and now > self.at and kind not in _FREE:
            raise _error(errno.ENOSPC, named)
        if now == self.at:
            if self.how != "fail":  # after which the rest may still be written
                half()
            if self.how == "die":
                os._exit(DIED)
            raise _error(errno.ENOSPC if self.how == "full" and kind not in _FREE else errno.EIO, named)

    def install(self) -> None:
        """Put the counted functions in place of the system's, for the rest of this process."""
        write_array: Any = np.lib.format.write_array
        write_array.__globals__["isfileobj"] = lambda file: False  # through the file object, not past it
        faults, real_open, real_os_open = self, io.open, os.open
        self.write = os.write

        class Raw(io.FileIO):
            def write(self, content: Any) -> int:
                whole = memoryview(content).cast("B")
                faults.step("write", self.place, half=lambda: super(Raw, self).write(whole[: len(whole) // 2]))
                return super().write(content)

            def truncate(self, size: int | None = None) -> int:
                faults.step("truncate", self.place)
                return super().truncate(size)

            place = ""

        def counted_open(
            file: Any, mode: str = "r", buffering: int = -1, encoding: Any = None, errors: Any = None,
            newline: Any = None, closefd: bool = True, opener: Any = None,
        ) -> Any:  # fmt: skip
            place = None if isinstance(file, int) or not set(mode) & set("wax+") else self.below(file)
            if place is None or opener is not None:
                return real_open(file, mode, buffering, encoding, errors, newline, closefd, opener)
            self.step("open", place, file)
            raw = Raw(file, mode.replace("b", "").replace("t", ""))
            raw.place = place
            out: Any = (io.BufferedRandom if "+" in mode else io.BufferedWriter)(raw)
            return out if "b" in mode else io.TextIOWrapper(out, encoding, errors, newline)

        builtins.open = io.open = counted_open

        def counted_os_open(path: Any, flags: int, *rest: Any, dir_fd: int | None = None) -> int:
            if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and (place := self.below(path, dir_fd)) is not None:
                self.step("open", place, path)
            return real_os_open(path, flags, *rest, dir_fd=dir_fd)

        setattr(os, "open", counted_os_open)  # noqa: B010 (types)

        def counted(name: str, kind: str, of_handle: bool = False) -> None:
            real = getattr(os, name)

            def change(path: Any, *rest: Any, **how: Any) -> Any:
                place = self.below(path, how.get("dir_fd", how.get("src_dir_fd")))
                if place is not None:
                    self.step(kind, place, None if of_handle else path)
                return real(path, *rest, **how)

            setattr(os, name, change)

        for name in ("fsync", "fdatasync"):  # what is written survives the process without them
            setattr(os, name, lambda handle: None)
        for name in ("replace", "rename", "link", "symlink"):
            counted(name, "rename")
        for name in ("unlink", "remove"):
            counted(name, "unlink")
        for name in ("mkdir", "rmdir", "truncate"):
            counted(name, name)
        for name, kind in (("fsync", "fsync"), ("fdatasync", "fsync"), ("write", "write"), ("ftruncate", "truncate")):
            counted(name, kind, of_handle=True)


def _error(number: int, named: Any) -> OSError:
    """The system's error; it has the name of a file unless the call was made with an open one."""
    text = os.strerror(number)
    return OSError(number, text) if named is None else OSError(number, text, os.fspath(named))


def _line(point: Point) -> str:
    return f"{point.kind}\t{re.sub(r'[.][0-9]+[.]part', '.part', point.path)}\n"


def stop_clock() -> None:
    """Let time stand still, but for multiprocessing, which would wait for ever."""
    from multiprocessing import connection, queues

    moving: Any = SimpleNamespace(**vars(time))
    setattr(connection, "time", moving)  # noqa: B010 (types)
    setattr(queues, "time", moving)  # noqa: B010
    time.process_time = time.monotonic = lambda: 0.0


def in_worker(given: str) -> None:
    """Count the changes of this worker process; its change number ``at`` fails."""
    root, how, at, log = json.loads(given)
    stop_clock()  # as in the process that started it
    _Faults(root, how, at, os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)).install()


def _most(lines: list[str]) -> list[Point]:
    """The changes of the worker that made most of them."""
    made: dict[str, list[Point]] = {}
    for line in lines:
        pid, kind, path = line.split("\t")
        made.setdefault(pid, []).append(Point(kind, path))
    return max(made.values(), key=len, default=[])


def in_child(root: Path, work: Callable[[], None], how: str = "count", at: int = -1, *, workers: bool = False) -> Ended:
    """Do the work in a forked process with ``root`` as its folder; its change number ``at`` fails.

    With ``workers``, it is that of each worker process that it starts; what it does itself is not counted.
    Fork before anything was computed: threads do not survive it.
    """
    with tempfile.TemporaryDirectory() as beside:
        said, told = Path(beside) / "said", Path(beside) / "told"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pid = os.fork()
        if not pid:
            if workers:
                os.environ["CCN_FAULTS"] = json.dumps([str(root), how, at, str(told)])
                os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent / "worker"), *sys.path])
            _child(root, work, None if workers else _Faults(root, how, at), said, told)
        most = HUNG * (3 if how == "count" else 1)  # kernels may be compiled
        end = time.monotonic() + PATIENCE
        while not (ended := os.waitpid(pid, os.WNOHANG))[0]:
            if time.monotonic() > end or _spent(pid) > most:
                os.kill(pid, signal.SIGKILL)
            time.sleep(0.002)
        lines = told.read_text().splitlines() if told.exists() else []
        points = _most(lines) if workers else [Point(*line.split("\t")) for line in lines]
        return Ended(os.waitstatus_to_exitcode(ended[1]), said.read_text(), points)


def _spent(pid: int) -> float:
    """Seconds of processor time of a process."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it is gone
        return 0.0
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


def _child(root: Path, work: Callable[[], None], faults: _Faults | None, said: Path, told: Path) -> NoReturn:
    """The forked process; it ends here."""
    code, real_open = 3, open
    try:
        for number, path in ((1, os.devnull), (2, said)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
        sys.stdout, sys.stderr = (real_open(n, "w", buffering=1, closefd=False) for n in (1, 2))
        os.chdir(root)
        if faults is not None:
            faults.install()
        try:
            work()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        except BaseException:
            traceback.print_exc()
        if faults is None:
            from joblib.externals.loky import reusable_executor

            if (pool := reusable_executor._executor) is not None:  # as at the end of a process
                pool.shutdown(wait=True, kill_workers=True)
        else:
            text = "".join(map(_line, faults.points))
            with real_open(told, "w") as file:
                file.write(text)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)

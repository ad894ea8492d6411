"""Workers end with the process that started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

_WORKER = (
    "import time; from ccn.training import processes; processes.EVERY = 0.05; processes.end_with({}); time.sleep(60)"
)
_PARENT = f"""
import os, subprocess, sys, time
worker = subprocess.Popen([sys.executable, "-c", {_WORKER!r}.format(os.getpid())])
print(worker.pid, flush=True)
time.sleep(60)
"""


def _runs(pid: int) -> bool:
    """Whether a process is there and not one that has ended and that nobody has asked about."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_a_worker_ends_when_its_parent_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", _PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        time.sleep(0.3)
        assert _runs(worker)
        os.kill(parent.pid, signal.SIGKILL)
        until = time.monotonic() + 20
        while _runs(worker) and time.monotonic() < until:
            time.sleep(0.05)
        assert not _runs(worker)

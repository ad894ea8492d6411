"""Many clients of ``ccn serve`` at once, beside a bare FastAPI application that answers a constant, on loopback.

python -m benchmarks.serving MODEL [--clients 50] [--seconds 60] [--kill]

Each client sends one molecule, waits for the answer and sends the next. Both servers run with the same uvicorn in a
process of their own; clients are tasks of this one. With ``--kill`` the server is killed in the middle and started
again, and clients try again until they are answered. The record is results/serving/load.json, and a table of it stands
in docs/serving.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import write_between
from ccn.files import write_json
from ccn.reports.markup import markdown

OUT, PAGE = Path("results/serving/load.json"), Path("docs/serving.md")
SMILES = [f"{'C' * n}c1ccc({end})cc1" for n in range(1, 20) for end in ("O", "N", "Cl", "C(=O)O", "C#N", "OC")]
BARE = """
import sys, uvicorn
from fastapi import FastAPI
app = FastAPI()
@app.post("/predict")
async def predict(asked: dict) -> dict:
    return {"model": "m", "rows": [{"smiles": "C", "values": {"y_pred": 1.0}}]}
uvicorn.run(app, port=int(sys.argv[1]), log_level="critical", access_log=False)
"""


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def start(words: Sequence[str], port: int) -> subprocess.Popen[bytes]:
    """A server, when it answers."""
    made = subprocess.Popen([sys.executable, *words])
    for _ in range(3000):
        if made.poll() is not None:
            raise SystemExit("the server ended")
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return made
        time.sleep(0.1)
    raise SystemExit("the server did not start")


async def request(reader: Any, writer: Any, port: int, smiles: str) -> int:
    """One request over an open connection; the status of its answer."""
    body = json.dumps({"molecules": [smiles]}).encode()
    head = f"POST /predict HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    await writer.drain()
    answer = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    await reader.readexactly(int(answer.split("content-length: ")[1].split("\r\n")[0]))
    return int(answer.split(" ")[1])


async def client(i: int, port: int, until: float, found: list[tuple[float, int, int]], patient: bool) -> None:
    """Ask until the end; (seconds, status, attempts) of each request."""
    rng, link = np.random.default_rng(i), None
    while time.monotonic() < until:
        began, attempts, status = time.monotonic(), 0, 0
        smiles = SMILES[int(rng.integers(len(SMILES)))]
        while status != 200 and attempts < 600:
            attempts += 1
            try:
                link = link or await asyncio.open_connection("127.0.0.1", port)
                status = await request(*link, port, smiles)
            except (OSError, EOFError):
                link, status = None, 0
                await asyncio.sleep(0.1)
            if not patient:
                break
        found.append((time.monotonic() - began, status, attempts))


def summary(found: Sequence[tuple[float, int, int]], seconds: float) -> dict[str, Any]:
    took = np.array([t for t, _, _ in found])
    failed = sum(status != 200 for _, status, _ in found)
    p50, p99 = np.quantile(took, [0.5, 0.99])
    return {
        "requests": len(found), "failed": failed, "tried_again": sum(a > 1 for _, _, a in found),
        "per_second": len(found) / seconds, "median_ms": 1000 * p50, "p99_ms": 1000 * p99,
        "longest_ms": 1000 * took.max(),
    }  # fmt: skip


async def load(port: int, clients: int, seconds: float, patient: bool = False) -> dict[str, Any]:
    found: list[tuple[float, int, int]] = []
    began = time.monotonic()
    await asyncio.gather(*(client(i, port, began + seconds, found, patient) for i in range(clients)))
    return summary(found, time.monotonic() - began)


def measured(words: Sequence[str], port: int, clients: int, seconds: float) -> dict[str, Any]:
    server = start(words, port)
    try:
        asyncio.run(load(port, 2, 1.0))
        return asyncio.run(load(port, clients, seconds))
    finally:
        server.terminate()
        server.wait(60)


def killed(words: Sequence[str], port: int, clients: int, seconds: float) -> dict[str, Any]:
    """The same, with a server that is killed after a third of the time and started again."""
    server = start(words, port)

    async def run() -> tuple[dict[str, Any], subprocess.Popen[bytes]]:
        work = asyncio.create_task(load(port, clients, seconds, patient=True))
        await asyncio.sleep(seconds / 3)
        os.kill(server.pid, signal.SIGKILL)
        server.wait()
        again = await asyncio.to_thread(start, words, port)
        return await work, again

    found, again = asyncio.run(run())
    again.terminate()
    again.wait(60)
    return found


def told(record: dict[str, Any]) -> str:
    """The record as a table."""
    names = {"bare": "FastAPI, a constant", "ccn": "ccn serve", "killed": "ccn serve, killed and started again"}
    columns = {"requests": "requests", "failed": "failed", "tried_again": "tried again", "per_second": "per second",
               "median_ms": "median, ms", "p99_ms": "99 %, ms"}  # fmt: skip
    first = next(iter(record.values()))
    said = (
        f"{first['clients']} clients for {first['seconds']:g} s on loopback, one molecule a request, "
        f"{first['workers']} workers, {first['cores']} cores, which the clients and other work share "
        "(`python -m benchmarks.serving`):"
    )
    rows = [[name, *(f"{record[key][c]:,.0f}" for c in columns)] for key, name in names.items() if key in record]
    return f"{said}\n\n{markdown(['server', *columns.values()], rows)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--output", type=Path, default=OUT)
    given = parser.parse_args()
    port, other = free_port(), free_port()
    words = ["-m", "ccn", "serve", f"m={given.model}", "--port", str(port), "--workers", str(given.workers), "--quiet"]
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / "bare.py"
        bare.write_text(BARE)
        record = json.loads(given.output.read_text()) if given.output.is_file() else {}
        cores = {"clients": given.clients, "seconds": given.seconds, "workers": given.workers, "cores": os.cpu_count()}
        if given.kill:
            record["killed"] = {**cores, **killed(words, port, given.clients, given.seconds)}
        else:
            record["bare"] = {**cores, **measured([str(bare), str(other)], other, given.clients, given.seconds)}
            record["ccn"] = {**cores, **measured(words, port, given.clients, given.seconds)}
        given.output.parent.mkdir(parents=True, exist_ok=True)
        write_json(given.output, record)
        write_between(PAGE, "load", told(record))
    print(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()

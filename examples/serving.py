"""Serving: a model behind the API of `ccn serve`, and a client that needs the standard library alone.

    python examples/serving.py

It trains on 150 molecules, starts a server of the run on a free port, and asks it for a prediction, for a reason and
for a whole table. `Client` works with any server of `ccn serve`: copy it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class Client:
    """A server of `ccn serve` at an address such as http://127.0.0.1:8000; what it refuses is an HTTPError."""

    def __init__(self, address: str, token: str = "") -> None:
        self.address, self.headers = address.rstrip("/"), {"Authorization": f"Bearer {token}"} if token else {}

    def call(self, path: str, body: dict[str, Any] | bytes | None = None) -> bytes:
        """The answer to a GET, or with a body to a POST."""
        kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        request = urllib.request.Request(self.address + path, data, {"Content-Type": kind, **self.headers})
        with urllib.request.urlopen(request) as answer:
            content: bytes = answer.read()
        return content

    def predict(self, molecules: Sequence[str], **asked: Any) -> list[dict[str, Any]]:
        """A row for each molecule; one that cannot be read has a `reason` and no `values`."""
        rows: list[dict[str, Any]] = json.loads(self.call("/predict", {"molecules": molecules, **asked}))["rows"]
        return rows

    def explain(self, molecules: Sequence[str], **asked: Any) -> list[dict[str, Any]]:
        """The terms of a sum for each molecule: baseline + atoms + bonds + whole + residual = prediction."""
        rows: list[dict[str, Any]] = json.loads(self.call("/explain", {"molecules": molecules, **asked}))["rows"]
        return rows

    def table(self, content: bytes, model: str) -> bytes:
        """A CSV of any length with predictions, when they are there."""
        job = json.loads(self.call(f"/jobs?model={model}", content))
        while job["state"] not in ("done", "failed"):
            time.sleep(0.5)
            job = json.loads(self.call(f"/jobs/{job['id']}"))
        if job["state"] == "failed":
            raise ValueError(job["error"])
        return self.call(f"/jobs/{job['id']}/result")


@contextmanager
def server(run: str) -> Iterator[str]:
    """The address at which a run is served."""
    words = [sys.executable, "-m", "ccn", "serve", run, "--port", "0", "--workers", "1"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        try:
            yield next(found[0] for line in running.stderr if (found := re.search(r"http://\S+/", line)))
        finally:
            running.terminate()


def main() -> tuple[list[dict[str, Any]], dict[str, Any], str]:
    """Predictions for a molecule and for what is none, a reason, and a table with its predictions."""
    rows = [(f"{'C' * n}{end}", n - 2.5 * (end != "Cl")) for n in range(1, 51) for end in ("O", "N", "Cl")]
    Path("table.csv").write_text("\n".join(["smiles,logP", *(f"{s},{y}" for s, y in rows)]) + "\n")
    train = "train table.csv --target logP --method gp --output served --no-report --quiet"
    subprocess.run([sys.executable, "-m", "ccn", *train.split()], check=True)
    with server("served") as address:
        client = Client(address)
        found = client.predict(["CCCO", "CC(C"], interval=0.5, domain=True)
        (why,) = client.explain(["CCCO"])
        table = client.table(b"name,smiles\npropanol,CCCO\nbutylamine,CCCCN\n", "served").decode()
    return found, why, table


if __name__ == "__main__":
    (good, bad), reason, answered = main()
    print(good["values"])
    print(f"{bad['smiles']}: {bad['reason']}, at characters {bad['where']}")
    print(reason["equation"])
    print(answered)

"""Small models and one server for the tests of it."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ccn.cli import app as command
from ccn.serving.limits import Limits

pytest.importorskip("fastapi")
pytest.importorskip("httpx2")

ENDS = ("O", "N", "C(=O)O", "C#N", "c1ccccc1", "Cl")
MOLECULES = [f"{'C' * n}{end}" for n in range(1, 11) for end in ENDS]


def write_table(path: Path, count: int) -> Path:
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "smiles", "size", "oxygens", "warmth"])
        for i, s in enumerate((MOLECULES * (1 + count // len(MOLECULES)))[:count]):
            rows.writerow([f"m{i}", s, len(s) + 0.25, s.count("O"), i % 7])
    return path


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_table(tmp_path_factory.mktemp("serving") / "table.csv", len(MOLECULES))


def train(table: Path, folder: Path, *words: str) -> Path:
    fixed = ["--output", str(folder), "--no-report", "--quiet", "--threads", "1", "--seed", "1"]
    command(["train", str(table), *words, *fixed], result_action="return_value", exit_on_error=False)
    return folder


@pytest.fixture(scope="session")
def runs(table: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A network of two targets, and a Gaussian process that reads a column beside the molecule."""
    root = tmp_path_factory.mktemp("runs")
    small = ["--order", "2", "--levels", "2", "--channels", "3", "--hidden", "8", "--epochs", "2", "--batch-size", "16"]
    both = ["--target", "size", "--target", "oxygens"]
    return {
        "network": train(table, root / "network", *both, "--method", "ccn", "--contractions", "distinct", *small),
        "warm": train(table, root / "warm", "--target", "size", "--method", "gp", "--extra-columns", "warmth"),
    }


LIMITS = Limits(rows=50, explained=3, atoms=60, seconds=60, body=20_000, upload=100_000, upload_rows=2_000)


@pytest.fixture(scope="session")
def client(runs: dict[str, Path]) -> Iterator[Any]:
    """A client of an application with one worker."""
    from starlette.testclient import TestClient

    from ccn.serving.app import Setup, application

    made = application(Setup(models=runs, workers=1, limits=LIMITS))
    with TestClient(made, base_url="http://127.0.0.1:8000", raise_server_exceptions=True) as client:
        yield client


@pytest.fixture(scope="session")
def address(runs: dict[str, Path]) -> Iterator[str]:
    """Where a server with two workers answers, for whoever needs a socket."""
    import threading
    import time

    import uvicorn

    from ccn.serving.app import Setup, application

    config = uvicorn.Config(
        application(Setup(models=runs, workers=2, limits=LIMITS)), port=0, log_level="critical", ws="none"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    for _ in range(1200):
        if server.started:
            break
        assert thread.is_alive()
        time.sleep(0.1)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(30)

"""``ccn serve`` as it is started."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ccn import CCNRegressor
from ccn.cli import main

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
SMILES = [f"{'C' * n}{end}" for n in range(1, 8) for end in ("O", "N", "Cl")]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Any = CCNRegressor(method="gp").fit(SMILES, [float(len(s)) for s in SMILES])
    path: Path = made.save(tmp_path_factory.mktemp("model") / "model.safetensors")
    return path


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What would be served."""
    from ccn.serving import server

    found: list[Any] = []
    monkeypatch.setattr(server, "serve", lambda *what: found.append(what))
    monkeypatch.delenv("CCN_TOKEN", raising=False)
    return found


def test_loopback_needs_no_token(ccn: Callable[..., None], served: list[Any], model: Path) -> None:
    ccn("serve", f"mine={model}", "--max-rows", "7")
    ((setup, host, port, _),) = served
    assert (dict(setup.models), setup.token, setup.limits.rows) == ({"mine": model}, None, 7)
    assert (host, port) == ("127.0.0.1", 8000)


def test_elsewhere_there_is_a_token_and_a_warning(
    ccn: Callable[..., None], served: list[Any], model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ccn("serve", model, "--host", "0.0.0.0")
    said = capsys.readouterr()
    assert "warning" in said.err
    assert f"token: {served[0][0].token}" in said.out


def test_a_token_is_read_from_a_file_or_the_environment(
    ccn: Callable[..., None], served: list[Any], model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text("a-token-in-a-file\n")
    ccn("serve", model, "--token-file", tmp_path / "token")
    monkeypatch.setenv("CCN_TOKEN", "a-token-from-the-environment")
    ccn("serve", model)
    assert [setup.token for setup, *_ in served] == ["a-token-in-a-file", "a-token-from-the-environment"]


@pytest.mark.parametrize("words", [["--workers", "0"], ["--max-rows", "0"]])
def test_what_makes_no_sense_is_an_error(words: list[str], served: list[Any], model: Path) -> None:
    with pytest.raises(SystemExit) as error:
        main(["serve", str(model), *words])
    assert error.value.code == 1
    assert not served


def test_a_short_token_is_an_error(served: list[Any], model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CCN_TOKEN", "short")
    with pytest.raises(SystemExit):
        main(["serve", str(model)])
    assert not served


def start(*words: object) -> tuple[subprocess.Popen[str], str]:
    """A server and its address."""
    made = subprocess.Popen(
        [sys.executable, "-m", "ccn", "serve", *map(str, words)], stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )  # fmt: skip
    assert made.stderr is not None
    for line in made.stderr:
        if found := re.search(r"http://\S+/", line):
            return made, found[0]
    raise AssertionError("it ended")


def ask(address: str, path: str, body: bytes | None = None) -> Any:
    kind = {"content-type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(address + path, body, kind), timeout=120) as answer:
        return json.loads(answer.read())


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_server_that_is_killed_takes_its_uploads_up_again(model: Path, tmp_path: Path) -> None:
    import psutil

    words = (model, "--port", 0, "--workers", 1, "--jobs", tmp_path / "jobs")
    first, address = start(*words)
    rows = 3_000
    table = b"smiles\n" + b"".join(f"{'C' * (1 + i % 40)}O\n".encode() for i in range(rows))
    job = ask(address, "jobs?domain=true", table)
    while not (found := ask(address, f"jobs/{job['id']}"))["done"]:
        assert found["state"] in ("waiting", "running")
        time.sleep(0.02)
    workers = psutil.Process(first.pid).children()
    first.kill()
    first.wait()
    assert first.stderr is not None
    first.stderr.close()
    _, alive = psutil.wait_procs(workers, timeout=30)
    assert not alive
    second, address = start(*words)
    while (found := ask(address, f"jobs/{job['id']}"))["state"] in ("waiting", "running"):
        time.sleep(0.1)
    assert (found["state"], found["rows"], found["without"]) == ("done", rows, 0)
    assert ask(address, "predict", b'{"molecules": ["CCO"]}')["rows"][0]["values"]
    second.send_signal(signal.SIGTERM)
    assert second.wait(60) in (0, -signal.SIGTERM)
    assert second.stderr is not None
    second.stderr.close()


@pytest.mark.slow
def test_a_model_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"nothing")
    found = subprocess.run(
        [sys.executable, "-m", "ccn", "serve", str(tmp_path), "--port", "0"],
        capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )  # fmt: skip
    assert found.returncode == 1
    assert len(found.stderr.strip().splitlines()) == 1

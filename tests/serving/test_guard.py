"""Who is answered."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("httpx2")
from fastapi import FastAPI, Request
from starlette.testclient import TestClient

from ccn.serving.guard import Guard
from ccn.serving.limits import Limits
from ccn.serving.metrics import Metrics

TOKEN = "a-token-of-a-test"


def client(token: str | None = None, loopback: bool = True, base: str = "http://127.0.0.1:8000") -> Any:
    app = FastAPI()
    app.add_middleware(Guard, limits=Limits(body=10, upload=20), metrics=Metrics(), token=token, loopback=loopback)

    @app.api_route("/{path:path}", methods=["GET", "POST"])
    async def answer(path: str, request: Request) -> int:
        return len(await request.body())

    return TestClient(app, base_url=base)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8000", 200),
        ("localhost:8000", 200),
        ("[::1]:8000", 200),
        ("evil.example", 403),
        ("127.evil.example", 403),
        ("", 403),
        ("[", 403),
    ],
)
def test_on_loopback_only_its_names_are_answered(host: str, status: int) -> None:
    assert client().get("/models", headers={"host": host}).status_code == status


@pytest.mark.parametrize(
    ("origin", "status"),
    [("http://127.0.0.1:8000", 200), ("http://evil.example", 403), ("null", 403), ("http://127.0.0.1:9", 403)],
)
def test_pages_of_other_sites_are_refused(origin: str, status: int) -> None:
    assert client().post("/predict", headers={"origin": origin}).status_code == status


@pytest.mark.parametrize(
    ("given", "status"),
    [(None, 401), ("Bearer wrong", 401), (f"Basic {TOKEN}", 401), (f"Bearer {TOKEN}", 200), ("Bearer \xe9", 401)],
)
def test_elsewhere_a_token_is_needed(given: str | None, status: int) -> None:
    made = client(TOKEN, loopback=False, base="http://example.org")
    headers = {} if given is None else {"authorization": given.encode("latin-1")}
    assert made.get("/models", headers=headers).status_code == status
    assert made.get("/", headers=headers).status_code == 200
    assert made.get("/health").status_code == 200


@pytest.mark.parametrize(
    ("path", "size", "status"), [("/x", 10, 200), ("/x", 11, 413), ("/jobs", 20, 200), ("/jobs", 21, 413)]
)
def test_bodies_are_counted(path: str, size: int, status: int) -> None:
    def pieces() -> Any:
        yield from (b"x" for _ in range(size))

    assert client().post(path, content=b"x" * size).status_code == status
    assert client().post(path, content=pieces()).status_code == status  # without a length


def test_the_paths_of_metrics_are_few() -> None:
    metrics = Metrics()
    made = TestClient(Guard(FastAPI(), Limits(), metrics, None, False))
    for path in ("/a", "/b", "/jobs/x", "/jobs/y", "/static/x"):
        made.get(path)
    text = metrics.text({})
    assert text.count("ccn_requests_total{") == 2
    assert 'path="/jobs",status="404"} 2' in text

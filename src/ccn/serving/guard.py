"""What stands before the application: who may ask, how much, and the headers of every answer.

On loopback only requests for a loopback name are answered, so that a foreign page cannot reach the server by a name of
its own (DNS rebinding), and elsewhere only those with the token. A request that another site's page makes is refused.
Bodies are counted as they arrive and waited for a limited time.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from ccn.serving.limits import Limits
from ccn.serving.metrics import Metrics

__all__ = ["HEADERS", "OPEN", "Guard", "is_loopback"]

_Message = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[_Message]]
_Send = Callable[[_Message], Awaitable[None]]
_App = Callable[[MutableMapping[str, Any], _Receive, _Send], Awaitable[None]]

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
"""Headers of every answer."""
OPEN = ("/", "/health", "/openapi.json")
"""Paths that need no token: the page without data, and whether the server is alive."""
_OPEN_BELOW = ("/static/", "/editor/")
_PATHS = ("/predict", "/explain", "/nearest", "/models", "/jobs", "/health", "/metrics", "/openapi.json", "/")
_IDLE = 30.0  # seconds between two pieces of a body


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a host.

    Example:
        >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
        (True, True, False)
    """
    return host in ("localhost", "::1") or host.startswith("127.")


@dataclass(frozen=True)
class Guard:
    """The application behind what guards it.

    Attributes:
        app: what answers.
        limits: of bodies.
        metrics: where requests are counted.
        token: which requests need, or None.
        loopback: whether only names of this machine are answered.
    """

    app: _App
    limits: Limits
    metrics: Metrics
    token: str | None
    loopback: bool

    async def __call__(self, scope: MutableMapping[str, Any], receive: _Receive, send: _Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        began, status = time.monotonic(), 500
        path = str(scope["path"])

        async def answer(message: _Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = {key.lower() for key, _ in message.get("headers", [])}
                more = {**HEADERS, **({} if path.startswith(_OPEN_BELOW) else {"cache-control": "no-store"})}
                message["headers"] = [
                    *message.get("headers", []),
                    *((k.encode(), v.encode()) for k, v in more.items() if k.encode() not in given),
                ]
            await send(message)

        try:
            refused = self._refused(scope)
            if refused is None:
                await self.app(scope, self._counted(path, receive), answer)
            else:
                await _refuse(answer, *refused)
        finally:
            known = next((p for p in _PATHS if path == p or (p != "/" and path.startswith(f"{p}/"))), "other")
            self.metrics.request(known, status, time.monotonic() - began)

    def _refused(self, scope: MutableMapping[str, Any]) -> tuple[int, str] | None:
        """Status and reason if a request is not even read."""
        headers = {key.decode("latin-1").lower(): value.decode("latin-1") for key, value in scope["headers"]}
        host = headers.get("host", "")
        if self.loopback and not is_loopback(_name(f"//{host}")):
            return 403, "this server answers on this machine only; use the address that it printed"
        origin = headers.get("origin")
        if origin and origin != "null" and urlsplit(origin).netloc != host:
            return 403, "requests from pages of other sites are refused"
        if origin == "null" or (headers.get("sec-fetch-site") == "cross-site" and scope["path"] not in OPEN):
            return 403, "requests from pages of other sites are refused"
        open_to_all = scope["path"] in OPEN or str(scope["path"]).startswith(_OPEN_BELOW)
        if self.token is not None and not open_to_all:
            kind, _, given = headers.get("authorization", "").partition(" ")
            if kind.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), self.token.encode()):
                return 401, "a token is needed: the header Authorization: Bearer TOKEN"
        length, most = headers.get("content-length", ""), self._most(scope["path"])
        return (413, _too_long(most)) if length.isdigit() and int(length) > most else None

    def _most(self, path: str) -> int:
        return self.limits.upload if path == "/jobs" else self.limits.body

    def _counted(self, path: str, receive: _Receive) -> _Receive:
        """The body, until there is too much of it or it does not come."""
        from starlette.exceptions import HTTPException

        most, size, ended = self._most(path), 0, False

        async def counted() -> _Message:
            nonlocal size, ended
            if ended:  # what comes then is that the client has gone
                return await receive()
            try:
                async with asyncio.timeout(_IDLE):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, f"the body did not arrive within {_IDLE:g} s") from None
            size += len(message.get("body", b""))
            ended = not message.get("more_body", False)
            if size > most:
                raise HTTPException(413, _too_long(most))
            return message

        return counted


def _too_long(most: int) -> str:
    return f"more than {most:,} bytes; send fewer molecules, or a table to /jobs"


def _name(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


async def _refuse(send: _Send, status: int, why: str) -> None:
    body = json.dumps({"detail": why}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    headers += [(b"connection", b"close")] if status in (408, 413) else []
    headers += [(b"www-authenticate", b"Bearer")] if status == 401 else []
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})

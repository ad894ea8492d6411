"""What stands before the application: who may ask, how much, and the headers of every answer.

On loopback only requests for a loopback name are answered, so that a foreign page cannot reach the server by a name of
its own (DNS rebinding), and elsewhere only those with the token. A request that another site's page makes is refused.
Bodies are counted as they arrive and waited for a limited time.
"""

from __future__ import annotations

import asyncio
import hmac
import time
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ccn.serving.limits import Limits
from ccn.serving.metrics import Metrics

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["HEADERS", "OPEN", "Guard", "is_loopback"]

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
_REFUSED = {401: {"www-authenticate": "Bearer"}, 413: {"connection": "close"}}  # headers by status


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a host.

    Example:
        >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
        (True, True, False)
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


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

    app: ASGIApp
    limits: Limits
    metrics: Metrics
    token: str | None
    loopback: bool

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        from starlette.datastructures import MutableHeaders
        from starlette.responses import JSONResponse

        began, status = time.monotonic(), 500
        path = str(scope["path"])

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status, headers = message["status"], MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if not path.startswith(_OPEN_BELOW):
                    headers.setdefault("cache-control", "no-store")
            await send(message)

        try:
            refused = self._refused(scope)
            if refused is None:
                await self.app(scope, self._counted(path, receive), answer)
            else:
                code, why = refused
                await JSONResponse({"detail": why}, code, _REFUSED.get(code))(scope, receive, answer)
        finally:
            known = next((p for p in _PATHS if path == p or (p != "/" and path.startswith(f"{p}/"))), "other")
            self.metrics.request(known, status, time.monotonic() - began)

    def _refused(self, scope: Scope) -> tuple[int, str] | None:
        """Status and reason if a request is not even read."""
        from starlette.datastructures import Headers

        headers, path = Headers(scope=scope), str(scope["path"])
        host, origin = headers.get("host", ""), headers.get("origin")
        if self.loopback and not is_loopback(_name(f"//{host}")):
            return 403, "this server answers on this machine only; use the address that it printed"
        from_elsewhere = headers.get("sec-fetch-site") == "cross-site" and path not in OPEN
        if from_elsewhere or (origin and origin.partition("://")[2] != host):  # also the origin "null"
            return 403, "requests from pages of other sites are refused"
        if self.token is not None and path not in OPEN and not path.startswith(_OPEN_BELOW):
            kind, _, given = headers.get("authorization", "").partition(" ")
            if kind.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), self.token.encode()):
                return 401, "a token is needed: the header Authorization: Bearer TOKEN"
        length, most = headers.get("content-length", ""), self._most(path)
        return (413, _too_long(most)) if length.isdigit() and int(length) > most else None

    def _most(self, path: str) -> int:
        return self.limits.upload if path == "/jobs" else self.limits.body

    def _counted(self, path: str, receive: Receive) -> Receive:
        """The body, until there is too much of it or it does not come."""
        from starlette.exceptions import HTTPException

        most, size, ended = self._most(path), 0, False

        async def counted() -> Message:
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

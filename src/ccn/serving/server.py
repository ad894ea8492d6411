"""A server that runs until it is ended: uvicorn around the application."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from ccn.errors import ConfigurationError, needs
from ccn.serving.guard import is_loopback

if TYPE_CHECKING:
    from ccn.serving.app import Setup

__all__ = ["LEAST_TOKEN", "serve", "token_for"]

LEAST_TOKEN = 16
"""Characters of a token."""
_GRACE = 30  # seconds for requests that are being answered when the server is ended


def token_for(host: str, token: str | None) -> str | None:
    """The token that requests need: the one given, none on loopback, else one that is drawn.

    Example:
        >>> token_for("127.0.0.1", None) is None, len(token_for("0.0.0.0", None)) > 20
        (True, True)
    """
    if token is not None and (
        len(token) < LEAST_TOKEN or not token.isascii() or not token.isprintable() or " " in token
    ):
        raise ConfigurationError(f"the token must have {LEAST_TOKEN} or more printable characters without blanks")
    return token if token is not None or is_loopback(host) else secrets.token_urlsafe(24)


def serve(setup: Setup, host: str, port: int, say: Callable[[str], None]) -> None:
    """Serve until the process is interrupted or terminated; requests that are being answered are finished.

    Args:
        setup: what is served.
        host, port: where; port 0 is one that is free.
        say: told the address when the server answers, and what is doubtful about it.
    """
    with needs("ccn serve", "serve"):
        import uvicorn

        from ccn.serving.app import application
    app = application(replace(setup, loopback=is_loopback(host)))
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    held = socket.socket(family, socket.SOCK_STREAM)
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        held.bind((host, port))
    except OSError as error:
        raise ConfigurationError(f"--host {host} --port {port}: {error.strerror}; choose another port") from None
    config = uvicorn.Config(
        app,
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_GRACE,
        limit_concurrency=2 * setup.limits.waiting,
        ws="none",
    )

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                at = f"[{host}]" if ":" in host else host
                say(f"serving {', '.join(setup.models)} on http://{at}:{held.getsockname()[1]}/")

    with suppress(SystemExit):  # what uvicorn raises if the application does not start
        Server(config).run([held])
    if (failure := getattr(app.state, "failure", None)) is not None:
        raise failure

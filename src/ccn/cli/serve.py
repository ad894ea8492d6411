"""``ccn serve``: a page and an API."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ccn.cli.options import Flag, Quiet
from ccn.serving.limits import Limits

__all__ = ["serve"]

_MODELS = "Model files or folders of runs; NAME=PATH chooses the name that clients see."
_ALLOWED = Limits()
_MOST_WORKERS = 256


def serve(
    model: Annotated[str, Parameter(help=_MODELS)],
    /,
    *others: Annotated[str, Parameter(help="Further models.")],
    host: str = "127.0.0.1",
    port: int = 8000,
    workers: int = 2,
    token_file: Path | None = None,
    jobs: Path | None = None,
    hide_training: Flag = False,
    max_rows: int = _ALLOWED.rows,
    max_atoms: int = _ALLOWED.atoms,
    max_seconds: float = _ALLOWED.seconds,
    max_body: int = _ALLOWED.body,
    max_upload: int = _ALLOWED.upload,
    quiet: Quiet = False,
) -> None:
    """Serve models: a page for colleagues, and an API for programs.

    For example, `ccn serve run`, then open http://127.0.0.1:8000/, or `ccn serve solubility=run1 toxicity=run2`.

    The page shows predictions with intervals, what each atom contributes, the nearest training molecules, and whether a
    molecule is like those of training. It loads nothing from elsewhere. The API is described at /openapi.json. Models
    that are replaced on disk are read again, without a dropped request.

    Only this machine is answered unless --host says otherwise; then every request needs a token: that of --token-file
    or of the environment variable CCN_TOKEN, else one that is drawn and printed.

    Args:
        host: Address to listen on; 0.0.0.0 for all of this machine.
        port: Port to listen on; 0 for one that is free.
        workers: Processes that answer requests; each holds all models.
        token_file: File with the token.
        jobs: Folder for uploaded tables, which outlives the server and which several may share; by default a temporary
            one.
        hide_training: Do not show the nearest training molecules and their values.
        max_rows: Molecules of one request.
        max_atoms: Atoms of a molecule.
        max_seconds: Seconds of computation of one request.
        max_body: Bytes of one request.
        max_upload: Bytes of an uploaded table.
    """
    from ccn.cli.show import say
    from ccn.errors import ConfigurationError, needs
    from ccn.serving.catalogue import names_of
    from ccn.serving.guard import is_loopback
    from ccn.serving.server import serve as run
    from ccn.serving.server import token_for

    with needs("ccn serve", "serve"):
        from ccn.serving.app import Setup
    if not 1 <= workers <= _MOST_WORKERS:
        raise ConfigurationError(f"--workers {workers}: from 1 to {_MOST_WORKERS} processes")
    if not 0 <= port < 1 << 16:
        raise ConfigurationError(f"--port {port}: from 0 to 65535")
    given = os.environ.get("CCN_TOKEN") if token_file is None else token_file.read_text(encoding="utf-8").strip()
    token = token_for(host, given or None)
    tell = say(quiet)
    if not is_loopback(host):
        tell(
            f"warning: {host} is reached by other machines. Requests need the token, but they are not encrypted: put a "
            "proxy with TLS before the server (docs/serving.md)"
        )
        if given is None:
            print(f"token: {token}", flush=True)
    limits = Limits(rows=max_rows, atoms=max_atoms, seconds=max_seconds, body=max_body, upload=max_upload)
    made = Setup(
        models=names_of([model, *others]),
        workers=workers,
        limits=limits,
        token=token,
        training=not hide_training,
        jobs=jobs,
    )
    run(made, host, port, tell)

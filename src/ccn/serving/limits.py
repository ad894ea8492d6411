"""What a server allows its clients."""

from __future__ import annotations

from dataclasses import dataclass

from ccn.errors import ConfigurationError

__all__ = ["Limits"]

_MOST = 1 << 40


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a server allows its clients; beyond it a request is refused with a reason.

    Attributes:
        rows: molecules of one request.
        explained: molecules of one request for explanations.
        atoms: of a molecule.
        seconds: of the computation of one request; a worker that takes longer is ended. Also of waiting for one.
        body: bytes of a request.
        upload: bytes of a table.
        upload_rows: rows of a table.
        upload_seconds: of a table's computation.
        waiting: requests that wait for a worker.
        jobs: uploads that wait or are computed.
        kept: hours after which the result of an upload is removed.

    Example:
        >>> Limits(rows=10).atoms
        500
    """

    rows: int = 1000
    explained: int = 20
    atoms: int = 500
    seconds: float = 30.0
    body: int = 1 << 20
    upload: int = 200 << 20
    upload_rows: int = 1_000_000
    upload_seconds: float = 4 * 3600.0
    waiting: int = 1000
    jobs: int = 20
    kept: float = 24.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0 < value <= _MOST:
                raise ConfigurationError(f"{name}={value}: a limit is more than zero and at most {_MOST}")

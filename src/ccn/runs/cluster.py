"""Chunks on a cluster of Dask: the machines that a user already has, on SLURM, Kubernetes, a cloud or here.

The scheduler gives a chunk of a worker that has died to another one; the model file travels as a task of its
own, so that a new worker asks for it, and so that it too is made again if all who had it are gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ccn.errors import ConfigurationError, DependencyError, TrainingError
from ccn.runs.answers import Question
from ccn.runs.workers import Mapper, Texts, answer_with, in_order

__all__ = ["cluster", "connected"]


def _hold(content: bytes) -> bytes:
    return content


@contextmanager
def connected(address: str, workers: int) -> Iterator[Any]:
    """A client of the cluster at an address such as ``tcp://host:8786``.

    ``local`` starts one of so many processes here.
    """
    try:
        from dask.distributed import Client, LocalCluster
    except ImportError:
        raise DependencyError("--cluster needs Dask: pip install 'ccn[cluster]'") from None
    own = None
    if address == "local":
        own = LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None)
    try:
        try:
            client = Client(own or address, timeout="20s")
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                f"--cluster {address}: no Dask scheduler answers there ({error}); start one with `dask scheduler`, or "
                "use --cluster local"
            ) from None
        with client:
            yield client
    finally:
        if own is not None:
            own.close()


@contextmanager
def cluster(address: str, path: Path, question: Question, workers: int) -> Iterator[Mapper]:
    """Chunks on the cluster at an address, or on a ``local`` one."""
    with connected(address, workers) as client:
        from distributed.scheduler import KilledWorker

        held = client.submit(_hold, path.read_bytes(), pure=False)

        def run(chunks: Iterable[Texts]) -> Iterator[Any]:
            # Twice as many chunks as threads: while one is done, the next is on its way.
            threads = max(1, sum(client.nthreads().values()))
            submit = lambda texts: client.submit(answer_with, held, question, texts, pure=False)  # noqa: E731
            try:
                yield from in_order(submit, chunks, 2 * threads + 2)
            except KilledWorker as error:
                raise TrainingError(
                    f"several workers of the cluster died over one chunk ({error}); look for want of memory there, "
                    "then go on with --resume"
                ) from None

        yield run

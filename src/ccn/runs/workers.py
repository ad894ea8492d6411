"""Chunks of rows in, answers out, in order: in this process, in one process per core, or on a Dask cluster.

A chunk is answered by a function of plain values, so that it can be computed anywhere, and again if a worker dies. Only
a few chunks are in progress at any time, which bounds the memory.
"""

from __future__ import annotations

import gc
import itertools
import math
import multiprocessing
import os
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ccn.errors import CCNError, ConfigurationError, TrainingError, needs
from ccn.learning import model_file
from ccn.learning.model import Model
from ccn.runs.answers import Question
from ccn.training.processes import end_with

__all__ = ["Mapper", "Texts", "ask", "cluster", "connected", "processes"]

Texts = tuple[Sequence[str], NDArray[np.float32] | None]
"""Some SMILES, or graphs as JSON, and (rows, columns) what stands in the extra columns, if the model reads any."""
Mapper = Callable[[Iterable[Texts]], Iterator[Any]]
"""From chunks to their answers, in order."""

_FEW = 8  # rows
_ASK_SECONDS = 5.0  # between questions to a scheduler for the number of its threads


def ask(question: Question, model: Model, texts: Texts) -> Any:
    """From the texts of one chunk to the values of each row and the reasons."""
    parsed = model.inputs.parse(texts[0], model.fitted.reads_edges, texts[1])
    return question.answer(model, parsed, len(texts[0]))


class _Future(Protocol):
    def result(self) -> Any: ...


def _in_order(
    submit: Callable[[Texts], _Future], chunks: Iterable[Texts], ahead: int | Callable[[], int]
) -> Iterator[Any]:
    """The answers in the order of the chunks, of which at most ``ahead`` are in progress; it may change meanwhile."""
    waiting: deque[_Future] = deque()
    for chunk in chunks:
        waiting.append(submit(chunk))
        while len(waiting) >= (ahead if isinstance(ahead, int) else ahead()):
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


@contextmanager
def processes(path: Path, digest: str, model: Model, question: Question, count: int) -> Iterator[Mapper]:
    """``count`` processes if there are more chunks than that, else this one, since processes take time to start.

    On the CPU every process answers chunks. A network on another device stays in this process, and the others parse.
    """
    with ExitStack() as stack:

        def run(chunks: Iterable[Texts]) -> Iterator[Any]:
            rest = iter(chunks)
            first = list(itertools.islice(rest, count + 1))
            every = itertools.chain(first, rest)
            if count == 1 or len(first) <= count:
                yield from (ask(question, model, chunk) for chunk in every)
                return
            texts, extra = first[0]
            # Compiles kernels and loads what copies of this process then have.
            ask(question, model, (texts[:_FEW], None if extra is None else extra[:_FEW]))
            pool = stack.enter_context(_pool(count, digest, model))
            stack.callback(gc.unfreeze)
            try:
                if model.fitted.device == "cpu":

                    def submit(texts: Texts) -> Any:
                        return pool.submit(_ask_file, str(path), digest, question, texts)

                    yield from _in_order(submit, every, 3 * count)
                else:
                    sizes: deque[int] = deque()

                    def parse(texts: Texts) -> Any:
                        sizes.append(len(texts[0]))
                        return pool.submit(model.inputs.parse, texts[0], model.fitted.reads_edges, texts[1])

                    for parsed in _in_order(parse, every, 3 * count):
                        yield question.answer(model, parsed, sizes.popleft())
            except BrokenExecutor as error:
                raise TrainingError(
                    f"a worker process was killed, perhaps for lack of memory ({error}); continue with --resume and "
                    "fewer --processes"
                ) from None

        yield run


def _pool(count: int, digest: str, model: Model) -> Executor:
    """Processes that answer.

    On Linux they are copies of this one (by ``fork``), which have its libraries and its model at once. Elsewhere, and
    where a GPU is in use, which a copy could not use, they start from nothing, which takes seconds.
    """
    import torch

    if sys.platform == "linux" and not torch.cuda.is_initialized():
        copies = multiprocessing.get_context("fork")
        pool = ProcessPoolExecutor(count, copies, initializer=_begin_copy, initargs=(os.getpid(), digest, model))
        gc.freeze()  # the collector writes to what it looks at, and pages that are written to are copied
        with warnings.catch_warnings():
            # Python warns of threads, which are not copied. A copy works in one, and holds no lock of another.
            warnings.simplefilter("ignore", DeprecationWarning)
            pool.submit(os.getpid)  # starts them
        return pool
    # Processes of loky, unlike those of the standard library, do not import the main script again.
    from joblib.externals.loky import ProcessPoolExecutor as Loky

    started: Executor = Loky(count, initializer=_begin, initargs=(os.getpid(),))
    return started


_copied: dict[str, Model] = {}
"""In a process that is a copy: the model by its digest."""


def _begin(parent: int | None = None) -> None:
    """Initialise a process."""
    import torch

    torch.set_num_threads(1)
    if parent is not None:
        end_with(parent)


def _begin_copy(parent: int, digest: str, model: Model) -> None:
    """Initialise a copy, which writes nothing: a thread of the original may hold the lock of the screen."""
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (as long as the process lives)
    _copied[digest] = model
    _begin(parent)


@lru_cache(maxsize=2)
def _model(path: str, digest: str) -> Model:
    """The model of a process, read once; the digest distinguishes files of the same name."""
    return _copied.get(digest) or model_file.load(path)


def _ask_file(path: str, digest: str, question: Question, texts: Texts) -> Any:
    return ask(question, _model(path, digest), texts)


@contextmanager
def connected(address: str, workers: int) -> Iterator[Any]:
    """A client of the Dask cluster at an address such as ``tcp://host:8786``; ``local`` starts one with processes."""
    with needs("--cluster", "cluster"):
        from dask.distributed import Client, LocalCluster
    with ExitStack() as stack:
        at: Any = address
        if address == "local":
            started = LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None)
            at = stack.enter_context(started)
        try:
            client = Client(at, timeout="20s")
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                f"--cluster {address}: no Dask scheduler answers there ({error}); start one with `dask scheduler`, or "
                "use --cluster local"
            ) from None
        yield stack.enter_context(client)


@contextmanager
def cluster(address: str, path: Path, question: Question, workers: int) -> Iterator[Mapper]:
    """The workers of a Dask cluster.

    The scheduler gives the chunks of a worker that has died to others. The model file is the result of a task, so that
    new workers can fetch it, and so that it is recreated if all workers that held it have died.
    """
    with connected(address, workers) as client:
        from distributed.scheduler import KilledWorker

        content = client.submit(bytes, path.read_bytes(), pure=False)

        def run(chunks: Iterable[Texts]) -> Iterator[Any]:
            asked, threads = -math.inf, 1

            def ahead() -> int:
                """Two chunks per thread: the next one is transferred while one is computed. Workers may join late."""
                nonlocal asked, threads
                if time.monotonic() - asked >= _ASK_SECONDS:
                    threads, asked = max(1, sum(client.nthreads().values())), time.monotonic()
                return 2 * threads + 2

            submit = partial(client.submit, _ask_content, content, question, pure=False)
            try:
                yield from _in_order(submit, chunks, ahead)
            except KilledWorker as error:
                raise TrainingError(
                    f"several workers of the cluster died over one chunk ({error}); look for lack of memory there, "
                    "then continue with --resume"
                ) from None

        yield run


@lru_cache(maxsize=2)
def _received(content: bytes) -> Model:
    """The model of a process on another machine, which does not see the file."""
    _begin()
    return model_file.loads(content)


def _ask_content(content: bytes, question: Question, texts: Texts) -> Any:
    try:
        return ask(question, _received(content), texts)
    except CCNError as error:
        raise type(error)(str(error)) from None

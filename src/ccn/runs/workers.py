"""Chunks of rows in, answers out, in order: in this process, in one process per core, or on a cluster.

A chunk is answered by a function of plain values, so that it can be done anywhere and done again. Only a few
chunks are under way at any time, whoever does them, which is what bounds the memory.
"""

from __future__ import annotations

import itertools
import os
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Protocol

from ccn.errors import CCNError, TrainingError
from ccn.learning import model_file
from ccn.learning.model import Model
from ccn.runs.answers import Question

__all__ = ["Mapper", "Texts", "answer_with", "ask", "here", "in_order", "processes"]

Texts = Sequence[str]
Mapper = Callable[[Iterable[Texts]], Iterator[Any]]
"""From chunks of SMILES, or of graphs as JSON, to their answers, in order."""


def ask(question: Question, model: Model, texts: Texts) -> Any:
    """For one chunk the values of each row, and why there are none: the way from texts to answers."""
    parsed = model.inputs.parse(texts, model.fitted.reads_edges)
    return question.answer(model, parsed, len(texts))


class _Future(Protocol):
    def result(self) -> Any: ...


def in_order(submit: Callable[[Texts], _Future], chunks: Iterable[Texts], ahead: int) -> Iterator[Any]:
    """The answers in the order of the chunks, of which at most ``ahead`` are under way."""
    waiting: deque[_Future] = deque()
    for chunk in chunks:
        waiting.append(submit(chunk))
        if len(waiting) >= ahead:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def here(model: Model, question: Question) -> Mapper:
    """In this process."""
    return lambda chunks: (ask(question, model, chunk) for chunk in chunks)


@contextmanager
def processes(path: Path, digest: str, model: Model, question: Question, count: int) -> Iterator[Mapper]:
    """One process per core, once there are more than ``count`` chunks; before, it is not worth their start.

    On the CPU every process does whole chunks. Where the network runs on another device it stays in this process,
    and the others parse.
    """
    with ExitStack() as stack:

        def run(chunks: Iterable[Texts]) -> Iterator[Any]:
            rest = iter(chunks)
            first = list(itertools.islice(rest, count + 1))
            if count == 1 or len(first) <= count:
                yield from here(model, question)(itertools.chain(first, rest))
                return
            # loky's processes, unlike those of the standard library, do not run the user's script once more.
            from joblib.externals.loky import ProcessPoolExecutor
            from joblib.externals.loky.process_executor import BrokenProcessPool

            pool = stack.enter_context(ProcessPoolExecutor(count, initializer=_begin, initargs=(os.getpid(),)))
            every = itertools.chain(first, rest)
            try:
                if model.fitted.device == "cpu":
                    submit = partial(pool.submit, _ask, str(path), digest, question)
                    yield from in_order(submit, every, 3 * count)
                else:
                    sizes: deque[int] = deque()

                    def parse(texts: Texts) -> Any:
                        sizes.append(len(texts))
                        return pool.submit(model.inputs.parse, texts, model.fitted.reads_edges)

                    for parsed in in_order(parse, every, 3 * count):
                        yield question.answer(model, parsed, sizes.popleft())
            except BrokenProcessPool as error:
                raise TrainingError(
                    f"a process that predicts was killed, perhaps for want of memory ({error}); continue with "
                    "--resume, and with fewer --processes"
                ) from None

        yield run


def _begin(parent: int | None = None) -> None:
    """Make a process ready; it ends when its parent has been killed, for whom else would it wait for ever."""
    import torch

    torch.set_num_threads(1)
    if parent is not None and os.name == "posix":
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(2.0)
    os._exit(1)


@lru_cache(maxsize=2)
def _model(path: str, digest: str) -> Model:
    """The model of a process, read once; the digest tells a file from another of the same name."""
    return model_file.load(path)


def _ask(path: str, digest: str, question: Question, texts: Texts) -> Any:
    return ask(question, _model(path, digest), texts)


@lru_cache(maxsize=2)
def _received(content: bytes) -> Model:
    """The model of a process on another machine, which cannot see the file."""
    _begin()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        path.write_bytes(content)
        return model_file.load(path)


def answer_with(content: bytes, question: Question, texts: Texts) -> Any:
    """The answers for one chunk from the bytes of a model file."""
    try:
        return ask(question, _received(content), texts)
    except CCNError as error:
        raise type(error)(str(error)) from None

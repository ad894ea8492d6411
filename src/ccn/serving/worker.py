"""A process that holds models and answers one task after another, and what the server sees of it.

Both sides send lines of JSON. The process reads from its standard input, so that it ends when the server does, however
that ends; whatever its libraries print goes to standard error. A task that takes too long, or kills its process, costs
that task alone: the server ends the process and starts another.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ccn.errors import CCNError, ConfigurationError
from ccn.files import json_safe

if TYPE_CHECKING:
    from ccn.learning.model import Model

__all__ = ["LostError", "RefusedError", "TooLongError", "Worker", "main"]

_LONGEST = 1 << 40  # bytes of a line; what is sent is bounded elsewhere
_STARTING = 300.0  # seconds until a process has read its models; kernels may be compiled
_VERSIONS = 2  # of a model that are held: requests that came before a new one are still answered by the old one
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


class RefusedError(CCNError):
    """What a client asked cannot be answered; the message says why."""


class LostError(CCNError):
    """The process of a task has died."""


class TooLongError(LostError):
    """The process of a task was ended because it took too long."""


class Worker:
    """The server's end of one process."""

    def __init__(self) -> None:
        self.process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start the process; it has no models yet."""
        environment = {**os.environ, **dict.fromkeys(_THREADS, "1")}
        environment["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
        self.process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "ccn.serving.worker"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_LONGEST,
            env=environment,
            start_new_session=True,  # Ctrl-C is for the server, which ends its processes itself
        )

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.returncode is None

    async def ask(
        self, task: Mapping[str, Any], seconds: float = _STARTING, tell: Callable[[int], None] = lambda done: None
    ) -> Any:
        """The answer to a task, which has a number of ``seconds``; ``tell`` is called with its progress.

        Raises:
            RefusedError: the task cannot be answered.
            LostError: the process has ended; start another one. ``TooLongError`` if it was ended for that reason.
        """
        try:
            async with asyncio.timeout(seconds):
                return await self._ask(task, tell)
        except TimeoutError:
            await self.stop()
            raise TooLongError(f"it took longer than {seconds:g} s; send fewer or smaller molecules") from None
        except (OSError, EOFError):
            await self.stop()
            raise LostError("the process that answered it died, perhaps for lack of memory") from None
        except asyncio.CancelledError:  # what it would still write belongs to nobody
            await self.stop()
            raise

    async def _ask(self, task: Mapping[str, Any], tell: Callable[[int], None]) -> Any:
        assert self.process is not None
        to, back = self.process.stdin, self.process.stdout
        assert to is not None
        assert back is not None
        to.write(_line(task))
        await to.drain()
        while True:
            found = json.loads(await back.readuntil())
            if "done" in found:
                tell(found["done"])
            elif "refused" in found:
                raise RefusedError(found["refused"])
            else:
                return found["answer"]

    async def stop(self) -> None:
        """End the process."""
        if self.process is None:
            return
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()


def _line(value: Any) -> bytes:
    return json.dumps(json_safe(value), allow_nan=False).encode() + b"\n"


_Held = dict[str, dict[str, "Model"]]
"""The models of this process by their names and keys, the newest version of each name last."""


def _load(held: _Held, name: str, key: str, path: str, training: bool) -> dict[str, Any]:
    """Hold one more version of a model; its description."""
    from ccn.serving.answers import describe, load

    model = load(path, training=training)
    described = describe(model)
    versions = held.setdefault(name, {})
    versions.pop(key, None)
    versions[key] = model
    for old in list(versions)[:-_VERSIONS]:
        del versions[old]
    return described


def _carry_out(held: _Held, task: dict[str, Any], tell: Callable[[int], None]) -> Any:
    from ccn.serving import answers

    kind = task.pop("do")
    if kind == "load":
        return _load(held, **task)
    if kind == "job":
        return answers.job(tell=tell, **task)
    kinds: dict[str, Callable[..., Any]]
    kinds = {"predict": answers.predict, "explain": answers.explain, "nearest": answers.nearest}
    model = held.get(task.pop("name"), {}).get(task.pop("key"))
    if model is None:
        raise ConfigurationError("this version of the model has been replaced; send the request again")
    return kinds[kind](model, **task)


def main() -> None:
    """Answer tasks from standard input until it ends."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print must not get between the lines
    import torch

    from ccn.training.processes import end_with

    end_with(os.getppid())
    torch.set_num_threads(1)
    held: _Held = {}

    def send(value: Any) -> None:
        out.write(_line(value))
        out.flush()

    for line in sys.stdin.buffer:
        if not line.endswith(b"\n"):  # the server ended while it wrote
            break
        try:
            send({"answer": _carry_out(held, json.loads(line), lambda done: send({"done": done}))})
        except CCNError as error:
            send({"refused": str(error)})
        except MemoryError:
            send({"refused": "not enough memory; send fewer or smaller molecules"})
        except BrokenPipeError:
            sys.exit(0)
        except Exception as error:  # the server goes on whatever a molecule makes a library raise
            import traceback

            traceback.print_tb(error.__traceback__)  # not its message, which may have what a client sent
            print(f"ccn serve: internal error: {type(error).__name__}", file=sys.stderr, flush=True)
            send({"refused": f"internal error ({type(error).__name__}); the log of the server has more"})


if __name__ == "__main__":
    main()

"""What is tried with faults: trainings, predictions and a model save, and what must hold after each fault.

After a fault the process has died, has ended with the unbroken result, or with one line that names a file. What was
there before is intact or replaced by the unbroken result. The command again then gives the unbroken result.
"""

from __future__ import annotations

import io
import itertools
import os
import re
import shutil
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from injection import DIED, HOWS, Ended, Point, in_child, stop_clock

__all__ = ["TRIALS", "BrokenError", "Trial", "attempt", "rendered"]

Content = dict[str, bytes]

_NETWORK = (
    *("--order", "1", "--levels", "1", "--channels", "2", "--hidden", "4", "--contractions", "distinct"),
    *("--epochs", "2", "--batch-size", "40", "--threads", "1", "--features", "element", "--no-edge-features"),
    "--quiet",
)


def _train(output: str, seed: int, method: str = "ccn") -> tuple[str, ...]:
    words = ("train", "molecules.csv", "--method", method, "--target", "size", "--checkpoint-every=-1", "--no-report")
    return (*words, *_NETWORK, "--output", output, "--seed", str(seed))


_STACK = _train("run", 1, "auto")
_SEARCH = ("tune", "molecules.csv", "--target", "size", "--trials", "2", *_NETWORK, "--output", "search")
_TRAIN, _OLD, _FORMER = _train("run", 1), _train("run", 0), _train("former", 0)
_SAVE = ("save", "former", "model.safetensors")
_PREDICT = ("predict", "former", "new.csv", "--processes", "1", "--chunk", "4", "--quiet", "-o", "out.csv")


_SHEET, _LOGGED = (*_PREDICT[:-1], "out.xlsx"), (*_TRAIN, "--tensorboard")


def _embed(output: str) -> tuple[str, ...]:
    return ("embed", *_PREDICT[1:-1], output)


@dataclass(frozen=True)
class Trial:
    """Something that is done with faults.

    Attributes:
        name: in the report.
        command: words for ``ccn``, or a model to save or a table to read (:func:`_work`).
        results: the files and folders that it makes.
        again: what is done afterwards, one after the other until one succeeds; the others must say why they do not.
        before: commands that make the folder in which it is done.
        cut: the last of these is killed at this change.
        workers: the faults are those of the worker processes, which take seconds to start.
        every: each so many changes are tried.
        former: where files that were there before may be instead, as long as the command is not complete.
    """

    name: str
    command: tuple[str, ...]
    results: tuple[str, ...]
    again: tuple[tuple[str, ...], ...]
    before: tuple[tuple[str, ...], ...] = ()
    cut: int = -1
    former: str = ""
    workers: bool = False
    every: int = 1


def _flags(words: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    return words, (*words, "--resume"), (*words, "--overwrite")


TRIALS = [
    Trial("model save in place of another file", _SAVE, ("model.safetensors",), (_SAVE,),
          (_FORMER, ("grow", "model.safetensors"))),
    Trial("store of a data set", ("read", "molecules.csv"), (), (("read", "molecules.csv"),)),
    Trial("store of a data set that has changed", ("read", "molecules.csv"), (), (("read", "molecules.csv"),),
          (("read", "molecules.csv"), ("grow", "molecules.csv"))),
    Trial("training", _TRAIN, ("run",), ((*_TRAIN, "--resume"),)),
    Trial("training, resumed", (*_TRAIN, "--resume"), ("run",), ((*_TRAIN, "--resume"),), (_TRAIN,), cut=60),
    Trial("training in place of another run", (*_TRAIN, "--overwrite"), ("run",),
          ((*_TRAIN, "--resume"), (*_TRAIN, "--overwrite")), (_OLD,), former="run/.former"),
    Trial("training of a stack", _STACK, ("run",), ((*_STACK, "--resume"),)),
    Trial("training of a stack, resumed", (*_STACK, "--resume"), ("run",), ((*_STACK, "--resume"),), (_STACK,), cut=90),
    Trial("search", _SEARCH, ("search/best.toml", "search/config.toml", "search/trials.csv"),
          ((*_SEARCH, "--resume"),)),
    Trial("predictions as CSV in place of others", _PREDICT, ("out.csv",), _flags(_PREDICT),
          (_FORMER, _TRAIN, ("predict", "run", *_PREDICT[2:]))),
    Trial("predictions, resumed", (*_PREDICT, "--resume"), ("out.csv",), _flags((*_PREDICT, "--resume"))[::2],
          (_FORMER, _PREDICT), cut=20),
    Trial("embeddings as NPY", _embed("out.npy"), ("out.npy",), _flags(_embed("out.npy")), (_FORMER,)),
    Trial("embeddings as Parquet", _embed("out.parquet"), ("out.parquet",), _flags(_embed("out.parquet")), (_FORMER,)),
    Trial("predictions as .xlsx", _SHEET, ("out.xlsx",), _flags(_SHEET), (_FORMER,)),
    Trial("training with a TensorBoard log", _LOGGED, ("run",), ((*_LOGGED, "--resume"),)),
    Trial("training of a stack by worker processes", _STACK, ("run",), ((*_STACK, "--resume"),), workers=True,
          every=3),
]  # fmt: skip


class BrokenError(AssertionError):
    """A promise that was not kept."""


def _work(words: Sequence[str], workers: bool = False) -> None:
    """Run a command, with a clock that makes results repeatable and checkpoints and records frequent."""
    from matplotlib.figure import Figure

    from ccn.cli import main
    from ccn.datasets import load
    from ccn.errors import CCNError
    from ccn.learning import model_file
    from ccn.learning.examples import fingerprint
    from ccn.methods import fits, stack

    drawn: Any = lambda figure, file, **how: file.write(b"drawn")  # noqa: E731
    setattr(Figure, "savefig", drawn)  # drawing takes longer than all the rest  # noqa: B010
    small: Any = {"trees": {"trees": 2, "runs": 1}, "ccn": {}}
    stack._PLANS["normal"] = stack._PLANS["normal"]._replace(folds=2, members=small)
    if workers:
        fits._IN_PROCESS = 0
        os.environ["LOKY_MAX_CPU_COUNT"] = "2"
    stop_clock()
    if words[0] not in ("train", "tune"):
        clock = itertools.count(step=10)
        time.monotonic = lambda: float(next(clock))
    os.environ["CCN_CACHE"] = "cache"
    try:
        match words:
            case "save", model, path:
                model_file.save(model_file.load(model), Path(path))
            case "grow", path:
                with Path(path).open("a") as file:
                    file.write("CCBr,4.25\n")
            case "read", path:
                read = [load(path, target_columns="size", **how) for how in _STORES]
                if len({fingerprint(data.pack, data.targets) for data in read}) > 1:
                    raise BrokenError("the store has other data")
            case _:
                main(words)
    except CCNError as error:
        print(f"ccn: {error}", file=sys.stderr)
        sys.exit(1)


_STORES: list[dict[str, Any]] = [{"store_from": 0}, {"store_from": 0}, {"store": False}]  # made, read, without


def _content(folder: Path, names: Iterable[str] = ("",), apart: str = "\0") -> Content:
    """The files below a folder, without locks, leftovers of killed processes and the store of the data."""
    found = (
        p for name in names for p in ([folder / name] if (folder / name).is_file() else (folder / name).rglob("*"))
    )
    every = {str(p.relative_to(folder)): p for p in found if p.is_file()}
    return {
        name: _bytes(p)
        for name, p in every.items()
        if not name.startswith(("cache/", apart))
        and not re.search(r"(^|/)(\.[^/]*\.(lock|part)|events\.out\.tfevents[^/]*)$", name)
    }


def _bytes(path: Path) -> bytes:
    """The content of a file; of a workbook without the time at which it was made."""
    content = path.read_bytes()
    if path.suffix == ".xlsx" and zipfile.is_zipfile(path):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return b"".join(name.encode() + archive.read(name) for name in archive.namelist() if "docProps" not in name)
    return content


def prepare(trial: Trial, folder: Path) -> None:
    """Make the folder of a trial."""
    folder.mkdir()
    smiles = [f"{'C' * (1 + i // 4)}{('O', 'N', 'C(=O)O', 'C#N')[i % 4]}" for i in range(44)]
    (folder / "molecules.csv").write_text("smiles,size\n" + "".join(f"{s},{len(s)}.25\n" for s in smiles) + "C(,1\n")
    (folder / "new.csv").write_text("name,smiles\n" + "".join(f"m{i},{s}\n" for i, s in enumerate(smiles[4:14])))
    for i, words in enumerate(trial.before):
        cut = trial.cut if i == len(trial.before) - 1 else -1
        ended = in_child(folder, partial(_work, words), "count" if cut < 0 else "die", cut)
        if ended.code != (0 if cut < 0 else DIED):
            raise BrokenError(f"{trial.name}: {' '.join(words)} cannot be prepared: {ended.said}")


def _restored(folder: Path, origin: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(origin, folder)


def _judge(trial: Trial, ended: Ended, point: Point | None, *more: str) -> None:
    """Raise an error unless a command has succeeded or has said in one line which file, or what more, is the reason."""
    if ended.code not in (0, 1) or "Traceback" in ended.said:
        raise BrokenError(f"exit code {ended.code}: {ended.said}")
    if ended.code == 0:
        return
    lines = [line for line in ended.said.splitlines() if line.startswith("ccn: ")]
    parts = () if point is None else Path(point.path).parts
    names = {*trial.results, *more, *(re.sub(r"^\.(.*)\.(part|lock|new|old)$", r"\1", part) for part in parts)}
    if len(lines) != 1 or not any(name in lines[0] for name in names):
        raise BrokenError(f"names none of {', '.join(names)}: {ended.said!r}")


def attempt(trial: Trial, base: Path, tell: Callable[[str], Any], every: int = 1) -> dict[str, Any]:
    """Try every fault, or each so many; counts of how they ended, and of promises not kept."""
    origin, folder = base / "origin", base / "work"
    for path in (origin, folder):
        shutil.rmtree(path, ignore_errors=True)
    prepare(trial, folder)
    folder.rename(origin)
    _restored(folder, origin)
    before, work = _content(folder), partial(_work, trial.command, trial.workers)
    child = partial(in_child, workers=trial.workers)
    whole = child(folder, work)
    _judge(trial, whole, None)
    unbroken = _content(folder, trial.results)
    if whole.code:
        raise BrokenError(f"{trial.name}: {whole.said}")
    counts: Counter[str] = Counter()
    for at, how in itertools.product(range(len(whole.points)), HOWS):
        if (at + HOWS.index(how)) % (every * trial.every):
            continue
        point = whole.points[at]
        counts["faults"] += 1
        try:
            _restored(folder, origin)
            ended = child(folder, work, how, at)
            if trial.workers:
                _judge(trial, ended, point, *(["was killed"] if how == "die" else []))
            elif how == "die":
                if ended.code != DIED:
                    raise BrokenError(f"did not die but ended with {ended.code}: {ended.said}")
            else:
                _judge(trial, ended, point)
            counts["died" if how == "die" else "refused" if ended.code else "finished"] += 1
            _check_kept(trial, folder, before, unbroken, whole=ended.code == 0)
            # In the other order for every other change: what comes first mostly succeeds.
            for words in trial.again[:: -1 if at % 2 else 1] if ended.code else ():
                ended = child(folder, partial(_work, words, trial.workers))
                _judge(trial, ended, None)
                if not ended.code:
                    break
            else:
                if ended.code:
                    raise BrokenError(f"nothing gives the result: {ended.said}")
            _check_kept(trial, folder, before, unbroken, whole=True)
        except BrokenError as error:
            counts["broken"] += 1
            tell(f"BROKEN {trial.name}, {at} ({point.kind} of {point.path}), {how}: {error}")
    kinds = Counter(p.kind for p in whole.points)
    found = {
        "name": trial.name,
        "points": len(whole.points),
        "every": trial.every,
        "kinds": dict(sorted(kinds.items())),
    }
    return found | {key: counts[key] for key in ("faults", "died", "finished", "refused", "broken")}


def _check_kept(trial: Trial, folder: Path, before: Content, unbroken: Content, *, whole: bool) -> None:
    """What was there before is there, or the unbroken result; if the command is complete, the result is whole."""

    def result(name: str) -> bool:
        return any(Path(name).is_relative_to(r) for r in trial.results)

    def notes(name: str) -> bool:
        return name.endswith((".part", ".progress"))  # of a prediction, which may end with it

    now = _content(folder, apart=trial.former or "\0")
    for name, data in before.items():
        if not result(name) and not notes(name) and now.get(name) != data:
            raise BrokenError(f"{name} is damaged")
    made = {name: data for name, data in now.items() if result(name)}
    if made == unbroken:
        return
    if whole:
        wrong = sorted(n for n in made.keys() | unbroken.keys() if made.get(n) != unbroken.get(n))
        raise BrokenError(f"differs from the unbroken result: {', '.join(wrong)}")
    aside = _content(folder / trial.former) if trial.former else {}
    for name, data in before.items() if trial.cut < 0 else ():  # what was cut is continued
        inner = name.partition("/")[2]
        if result(name) and data not in (made.get(name), aside.get(inner)):
            raise BrokenError(f"{name} of before is lost")


def rendered(found: Sequence[Mapping[str, Any]]) -> str:
    """The counts of all trials as a table."""
    from ccn.reports.markup import markdown

    keys = ("points", "faults", "died", "finished", "refused", "broken")
    total = {"name": "all"} | {key: sum(one[key] for one in found) for key in keys}
    head = ["what", "changes on disk", "faults", "died there", "ended whole", "error naming the file", "promise broken"]
    return markdown(head, [[one["name"], *(f"{one[key]:,}" for key in keys)] for one in (*found, total)])

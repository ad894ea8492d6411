"""The command line: one small file per verb, which imports heavy packages only when it runs.

May import every room. Exit codes: 0 success; 1 error in the data, the settings or a file; 2 usage error; 3 internal
error; 130 interrupted.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError, UnusedCliTokensError

from ccn.cli.contractions import contractions
from ccn.cli.data import data
from ccn.cli.demo import demo
from ccn.cli.draw import draw
from ccn.cli.embed import embed
from ccn.cli.evaluate import evaluate
from ccn.cli.explain import explain
from ccn.cli.expressivity import expressivity
from ccn.cli.info import info
from ccn.cli.options import about_columns, with_flags
from ccn.cli.predict import predict
from ccn.cli.report import report
from ccn.cli.reproduce import reproduce
from ccn.cli.serve import serve
from ccn.cli.show import printable
from ccn.cli.table import table
from ccn.cli.train import train
from ccn.cli.tune import tune
from ccn.cli.warmup import warmup
from ccn.errors import CCNError
from ccn.progress import say
from ccn.version import __version__

__all__ = ["app", "main"]

app = App(
    name="ccn",
    help="""Covariant compositional networks for learning from graphs and molecules.

For example, `ccn train molecules.csv --target pce --output run`, then `ccn predict run new.csv -o out.csv`.

`ccn COMMAND --help` has an example of each. Exit codes: 0 success, 1 error in the data, the settings
or a file, 2 usage error, 3 internal error, 130 interrupted. With --debug an error shows its traceback.""",
    version=__version__,
    version_flags=["--version"],
)
_VERBS = (
    *(train, predict, explain, evaluate, report, serve, tune, embed, info),
    *(data, expressivity, draw, contractions, reproduce, table, demo, warmup),
)
for _verb in _VERBS:
    app.command(_verb)
for _place, _name in enumerate(name for name in app if not name.startswith("-")):
    app[_name].sort_key = _place  # the order of the help

_LONGEST = 300  # characters of a word in an error, which may be a molecule as long as a command line

_RENAMED = {  # flags of 0.1, accepted for one more release
    "data": {"--out": "--output"},
    "embed": {"--threads": "--processes"},
    "predict": {"--threads": "--processes"},
    "reproduce": {"--jobs": "--processes"},
}


def main(words: Sequence[str] | None = None) -> None:
    """Run the command line; an error is one line on standard error and an exit code."""
    given = list(sys.argv[1:] if words is None else words)
    debug = "--debug" in given
    if debug:
        given.remove("--debug")
    try:
        app(_renamed(given), exit_on_error=False)
    except CycloptsError as error:  # cyclopts has printed it
        if isinstance(error, UnusedCliTokensError) and (hint := about_columns(given)):
            print(f"ccn: {printable(hint)}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output has closed it; Python must not report that at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:
        if debug:
            raise
        sys.exit(_failed(error, given))


def _renamed(words: list[str]) -> list[str]:
    """The arguments with the present names of renamed flags, each with a hint on standard error."""
    new = _RENAMED.get(words[0], {}) if words else {}
    out = []
    for word in words:
        flag, equals, value = word.partition("=")
        if flag in new:
            say(f"ccn: {flag} is now {new[flag]}")
            word = f"{new[flag]}{equals}{value}"
        out.append(word)
    return out


def _failed(error: Exception, words: Sequence[str]) -> int:
    """Print what went wrong in one line; the exit code."""
    if isinstance(error, CCNError):
        text, code = with_flags(str(error), words), 1
    elif isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        text, code = f"{where}{error.strerror or error}", 1
    elif isinstance(error, MemoryError):
        text, code = "not enough memory; use smaller batches (--batch-size) or chunks (--chunk)", 1
    else:
        text = f"{type(error).__name__}: {error}; this is an internal error: run with --debug and report it"
        code = 3
    text = " ".join(word if len(word) <= _LONGEST else f"{word[:_LONGEST]}.." for word in text.split())
    say(f"ccn: {printable(text)}", logging.ERROR)
    return code

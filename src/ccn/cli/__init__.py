"""The command line: one small file per verb, heavy packages imported only by the verb that needs them.

Exit codes: 0 done; 1 something is wrong with the data, the settings or a file; 2 the command is not spelled
right; 3 a fault of ccn's own; 130 interrupted by the user.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from cyclopts import App, CycloptsError

from ccn.cli.contractions import contractions
from ccn.cli.data import data
from ccn.cli.demo import demo
from ccn.cli.embed import embed
from ccn.cli.evaluate import evaluate
from ccn.cli.info import info
from ccn.cli.predict import predict
from ccn.cli.reproduce import reproduce
from ccn.cli.table import table
from ccn.cli.train import train
from ccn.cli.tune import tune
from ccn.errors import CCNError
from ccn.version import __version__

__all__ = ["app", "main"]

app = App(
    name="ccn",
    help="""Covariant compositional networks for learning from graphs and molecules.

For example, `ccn train molecules.csv --target pce --output run`, then `ccn predict run new.csv -o out.csv`.""",
    help_epilogue="""`ccn COMMAND --help` has an example of each. Exit codes: 0 done, 1 something is wrong with
the data, the settings or a file, 2 the command is not spelled right, 3 a fault of ccn's own, 130 interrupted.
With --debug an error shows where in the code it arose.""",
    version=__version__,
    version_flags=["--version"],
)
for verb in (train, predict, evaluate, tune, embed, info, data, contractions, reproduce, demo, table):
    app.command(verb)


def main(words: Sequence[str] | None = None) -> None:
    """Run the command line; an error is one line on standard error and an exit code."""
    given = list(sys.argv[1:] if words is None else words)
    debug = "--debug" in given
    if debug:
        given.remove("--debug")
    try:
        app(given, exit_on_error=False)
    except CycloptsError:
        sys.exit(2)  # cyclopts has said what is wrong
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # Who read our output has seen enough; Python must not complain about it at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:
        if debug:
            raise
        sys.exit(_failed(error))


def _failed(error: Exception) -> Any:
    """Say what went wrong in one line; the exit code."""
    if isinstance(error, CCNError):
        text, code = str(error), 1
    elif isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        text, code = f"{where}{error.strerror or error}", 1
    elif isinstance(error, MemoryError):
        text, code = "not enough memory; use smaller batches (--batch-size) or chunks (--chunk)", 1
    else:
        text = f"{type(error).__name__}: {error}; this is a fault of ccn: run it again with --debug and report it"
        code = 3
    print(f"ccn: {' '.join(text.split())}", file=sys.stderr)
    return code

"""The command line: one small file per verb, heavy packages imported only by the verb that needs them."""

from __future__ import annotations

import sys

from cyclopts import App

from ccn import __version__
from ccn.cli.contractions import contractions
from ccn.cli.data import data
from ccn.cli.demo import demo
from ccn.errors import CCNError

__all__ = ["app", "main"]

app = App(
    name="ccn",
    help="Covariant compositional networks for learning from graphs and molecules.",
    version=__version__,
    version_flags=["--version"],
)
app.command(contractions)
app.command(data)
app.command(demo)


def main() -> None:
    """Run the command line; an error of ccn's own is one line on standard error and exit code 1."""
    try:
        app()
    except CCNError as error:
        sys.exit(f"ccn: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)

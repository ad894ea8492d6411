"""``ccn table``: the paper's tables from the records of ``ccn reproduce``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

from ccn.cli.options import Output

__all__ = ["table"]

Format = Literal["markdown", "latex", "csv", "png"]
_ENDINGS: dict[str, Format] = {".md": "markdown", ".tex": "latex", ".csv": "csv", ".png": "png"}


def table(
    name: str = "all",
    /,
    *,
    results: Path = Path("results"),
    format: Format | None = None,  # noqa: A002 (the name of the flag)
    output: Annotated[Path | None, Output] = None,
    update: Path | None = None,
) -> None:
    """Print a table of the paper with our figures beside the published ones, from the records so far.

    For example, `ccn table kernels`, or `ccn table all --update docs/results.md`.

    Args:
        name: kernels, kernels-more (splits beyond ten), hcep, qm9 (scaled MAE), qm9-rmse, qm9-units, folds, zinc,
            expressivity, admet, cliffs, cliffs-only (rows on activity cliffs), all, or a data set for the table that it
            is in.
        results: Folder of the records.
        format: By default that of the output's suffix (.md, .tex, .csv, .png), else Markdown. csv has one line per
            figure.
        output: File to write, by default standard output; NAME.png for pictures.
        update: A Markdown page in which to update the tables between marks.
    """
    from ccn.cli.show import say
    from ccn.errors import ConfigurationError, DataError
    from ccn.files import write_atomically
    from ccn.paper.formats import as_csv, as_latex, as_markdown, draw, embed
    from ccn.paper.records import history
    from ccn.paper.tables import NAMES
    from ccn.paper.tables import table as make

    if not results.is_dir():
        raise DataError(f"{results}: no folder of records; run ccn reproduce first, or name it with --results")
    records = history(results)
    made = [make(n, records) for n in (NAMES if name.lower() == "all" else [name])]
    for empty in (t for t in made if not any(f.values for f in t.figures.values())):
        say(False)(f"{empty.name}: {results} has no figures of ours yet; {empty.command} makes some")
    if update is not None:
        if format not in (None, "markdown") or output is not None:
            raise ConfigurationError("--update writes Markdown into its page; leave out --format and --output")
        page = update.read_text(encoding="utf-8")
        write_atomically(update, embed(page, made, str(update)).encode())
        return
    kind = format or _ENDINGS.get(output.suffix.lower() if output else "", "markdown")
    if kind == "png":
        if output is not None and len(made) > 1:
            raise ConfigurationError("a picture shows one table: ccn table kernels --output kernels.png")
        for one in made:
            if one.methods or len(made) == 1:
                say(False)(f"written: {draw(one, output or Path(f'{one.name}.png'))}")
    else:
        writers = {"markdown": as_markdown, "latex": as_latex}
        text = as_csv(made) if kind == "csv" else "\n".join(writers[kind](t) for t in made)
        if output is None:
            sys.stdout.write(text)
        else:
            write_atomically(output, text.encode())

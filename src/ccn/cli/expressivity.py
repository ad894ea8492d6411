"""``ccn expressivity``: what message passing and covariant networks can tell apart in a data set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from ccn.cli.options import Json, Output, Quiet
from ccn.cli.sources import SourceFlags, read

__all__ = ["expressivity"]


def expressivity(
    source: str,
    /,
    *,
    order: int = 3,
    levels: int | None = None,
    most: int = 10,
    output: Annotated[Path | None, Output] = None,
    quiet: Quiet = False,
    json: Json = False,
    flags: SourceFlags | None = None,
) -> None:
    """Find graphs that look alike to message passing or to covariant networks, and the error that this makes certain.

    For example, `ccn expressivity molecules.csv --target pce`, or `ccn expressivity molecules.csv -o alike.html`.

    A network of messages between neighbours cannot tell decalin from bicyclopentyl: both get one answer, and if their
    targets differ, no training removes the error. The first table counts such graphs for message passing (1-WL) and for
    covariant networks up to each order, with any number of levels; the second says how small the error on these rows
    can get at best. What also the column "same graph" leaves, no model of these features can learn: other features
    (--features, --hydrogens) may. Networks are compared over integers, exactly, and not trained.

    Args:
        source: A table of molecules or graphs, or a name that `ccn data list` shows.
        order: Highest order of the covariant networks, from 1.
        levels: Number of their levels; by default any number.
        most: Pairs to draw on a page.
        output: File to write: .html for a page with drawn pairs, .csv for a line per graph that looks like another.
    """
    from ccn.cli.show import print_json, say, table
    from ccn.errors import ConfigurationError
    from ccn.expressivity import alike
    from ccn.files import write_atomically
    from ccn.progress import progress
    from ccn.reports.expressivity import as_csv, counts, floors, plain
    from ccn.reports.report import write_expressivity_page

    if order < 1 or (levels is not None and levels < 1):
        raise ConfigurationError(f"--order {order} --levels {levels}: give at least 1")
    suffix = "" if output is None else output.suffix.lower()
    if suffix not in ("", ".html", ".csv"):
        raise ConfigurationError(f"{output}: give a file that ends in .html or .csv")
    data = read(source, flags)
    with progress("comparing", unit="groups", shown=not (quiet or json)) as update:
        found = alike(data.pack, range(1, order + 1), levels, lambda done, total: update(done))
    if json:
        print_json({"name": data.name, **plain(found, data)})
    else:
        table(f"{data.name}: different graphs that look alike", *counts(found))
        head, rows = floors(found, data)
        if rows:
            table("At best, on these rows", head, rows, {*head[:2]})
    tell = say(quiet)
    for view, count in found.skipped.items():
        tell(f"{count:,} pairs are too large for {view}, and count as alike")
    if found.undecided:
        tell(f"{found.undecided:,} pairs may be the same graph; they count as different")
    if output is not None:
        if suffix == ".html":
            write_expressivity_page(found, data, output, most)
        else:
            write_atomically(output, as_csv(found, data).encode())
        tell(f"written to {output}")

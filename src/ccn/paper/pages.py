"""Tables in a page of Markdown, between lines that mark where each begins and ends."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from ccn.errors import FileError
from ccn.paper.comparison import Table
from ccn.paper.formats import as_markdown

__all__ = ["embed"]

_TABLE = re.compile(r"(<!-- ccn table (?P<name>\S+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
_MARK = re.compile(r"<!-- ccn table (?P<name>\S+) -->\n|<!-- end of table -->")


def embed(page: str, tables: Iterable[Table], where: str) -> str:
    """The page with the tables between its marks, ``<!-- ccn table NAME -->`` and ``<!-- end of table -->``.

    Tables without marks and marks without a table are skipped; a table whose end is not marked is an error.
    """
    names = [mark["name"] for mark in _MARK.finditer(page)]  # None at an end
    for name, following in pairwise([*names, "end of page"]):
        if name is not None and following is not None:
            raise FileError(
                f"{where}: <!-- ccn table {name} --> has no end; write a line <!-- end of table --> below its table"
            )
    given = {table.name: table for table in tables}
    if not given.keys() & set(names):
        raise FileError(
            f"{where}: there is no place for {', '.join(given)}; write a line <!-- ccn table NAME --> and below it a "
            "line <!-- end of table -->"
        )

    def filled(found: re.Match[str]) -> str:
        table = given.get(found["name"])
        return found[0] if table is None else f"{found[1]}\n{as_markdown(table)}\n{found[3]}"

    return _TABLE.sub(filled, page)

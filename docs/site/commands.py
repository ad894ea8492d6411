"""A page for every command, from the application itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ccn.cli import app

_HEADING = re.compile(r"^## ccn (?P<name>[\w-]+)\n", re.MULTILINE)


def pages() -> dict[str, str]:
    """The page of each command by its name, as Markdown."""
    text = app.generate_docs(output_format="markdown", max_heading_level=3, usage_name="ccn")
    return {name: f"# ccn {name}\n\n{_lists(body)}" for name, body in _sections(text)}


def _sections(text: str) -> Iterator[tuple[str, str]]:
    found = list(_HEADING.finditer(text))
    for this, after in zip(found, [*found[1:], None], strict=True):
        yield this["name"], text[this.end() : after.start() if after else len(text)].replace("\n### ", "\n## ")


def _lists(text: str) -> str:
    """Continued lines of list items with the indentation of their item, else Markdown takes them for code."""
    return re.sub(r"\n {4,}(?=\S)", "\n  ", text)

"""Check a built site offline: links to pages, anchors and files lead somewhere, and nothing is loaded from outside.

Usage: ``python docs/site/links.py build/docs/html``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "object": "data"}


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        self.anchors |= {given[key] for key in ("id", "name") if key in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in _LOADED and _LOADED[tag] in given and given.get("rel") not in ("canonical", "search"):
            self.loaded.append(given[_LOADED[tag]])


def broken(site: Path) -> Iterator[str]:
    """What is wrong, one line each."""
    pages = {}
    for path in site.rglob("*.html"):
        pages[path.resolve()] = page = _Page()
        page.feed(path.read_text("utf-8"))
    for path, page in pages.items():
        where = path.relative_to(site.resolve())
        for link in page.loaded:
            if urlsplit(link).scheme not in ("", "data") or urlsplit(link).netloc:
                yield f"{where}: loads {link} from outside"
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                yield f"{where}: {link} leads nowhere"
            elif target in pages and parts.fragment and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{where}: {link}: no such anchor"


if __name__ == "__main__":
    found = sorted(broken(Path(sys.argv[1])))
    print(*found, sep="\n")
    print(f"{len(found)} broken links")
    sys.exit(bool(found))

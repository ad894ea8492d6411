"""What the site shows that is not written by hand: commands, public names, examples with what they print.

Pages go to ``docs/made``, which is not committed. Links in Markdown are written for a reader of the repository; on the
site they lead to the page made of the file, if there is one (:func:`relink`).
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import commands
import names
import scripts

ROOT = Path(__file__).parents[2]
WHOLE = {
    "README.md": "start",
    "CHANGELOG.md": "changelog",
    "CONTRIBUTING.md": "contributing",
    "benchmarks/README.md": "benchmarks",
    "benchmarks/results/kernels.md": "benchmarks-kernels",
    "benchmarks/results/latest.md": "benchmarks-latest",
    "src/ccn/datasets/mutag/README.md": "mutag",
}
"""Pages outside of this folder, and their names on the site."""

_LINK = re.compile(r"(?<=\]\()([^()#\s]+)(?=(?:#[^()\s]*)?\))")


def made_of(path: Path) -> str | None:
    """The page below ``docs`` that shows a file of the repository, if one does."""
    relative = path.relative_to(ROOT)
    if str(relative) in WHOLE:
        return f"made/{WHOLE[str(relative)]}.md"
    if str(relative.parent) == "examples" and path.suffix == ".py":
        return f"made/examples/{path.stem}.md"
    return None


def relink(text: str, source: Path, page: str) -> str:
    """Markdown of the file ``source`` as it stands on the page ``page`` (below ``docs``): links lead to the site."""
    up = "../" * page.count("/")

    def named(found: re.Match[str]) -> str:
        path = (source.parent / found[1]).resolve()
        if not path.exists() or not path.is_relative_to(ROOT):
            return found[1]
        below = made_of(path) or (path.relative_to(ROOT / "docs") if path.is_relative_to(ROOT / "docs") else None)
        return f"{up}{below}" if below else f"{up}../{path.relative_to(ROOT)}"

    return _LINK.sub(named, text)


def whole(file: str, page: str) -> str:
    """The page of a file outside of this folder; one without a heading has its name."""
    text = relink((ROOT / file).read_text("utf-8"), ROOT / file, page)
    return text if text.startswith("# ") else f"# {file}\n\n{text}"


def with_others(index: str) -> str:
    """The index with the pages of this folder that it does not name in place of the line ``OTHERS``."""
    named = {line.strip() for line in index.splitlines()}
    others = sorted({p.stem for p in (ROOT / "docs").glob("*.md")} - named - {"index"})
    return re.sub(r"^OTHERS\n", "".join(f"{stem}\n" for stem in others), index, flags=re.MULTILINE)


def everything(folder: Path, cache: Path) -> None:
    """Write all pages that are made; what examples print is kept in ``cache`` until they or the package change."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = {
        **{f"{name}.md": whole(file, f"made/{name}.md") for file, name in WHOLE.items()},
        **{f"commands/{name}.md": text for name, text in commands.pages().items()},
        **{f"names/{name}.md": text for name, text in names.pages().items()},
        **{f"examples/{name}.md": text for name, text in scripts.pages(cache).items()},
    }  # fmt: skip
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

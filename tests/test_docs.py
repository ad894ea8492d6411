"""The pages of documentation: their Python runs, from top to bottom, and their commands are understood.

What a page needs and does not show stands in an HTML comment that begins with ``setup:``, and runs in its place.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from ccn.cli import app

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/guides/*.md")])
PYTHON = re.compile(r"^```python\n(.*?)^```$|^<!-- setup:(.*?)-->$", re.MULTILINE | re.DOTALL)
SHELL = re.compile(r"^```(?:console|bash|sh|)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FENCES = re.compile(r"^```\w*\n.*?^```$", re.MULTILINE | re.DOTALL)


def python(page: Path) -> Iterator[tuple[str, int]]:
    """Each piece of Python of a page, and the line above it."""
    text = page.read_text(encoding="utf-8")
    for found in PYTHON.finditer(text):
        piece = found.lastindex or 0
        yield found[piece], text[: found.start(piece)].count("\n")


def commands(page: Path) -> Iterator[list[str]]:
    """The arguments of every ``ccn`` in blocks of shell commands."""
    for block in FENCES.findall(page.read_text(encoding="utf-8")):
        for line in "".join(SHELL.findall(block)).splitlines():
            words = shlex.shlex(line, posix=True, punctuation_chars=True)
            words.whitespace_split = True
            command: list[str] = []
            for word in [*words, ";"]:
                if set(word) <= set("();<>|&"):
                    if command[:1] == ["ccn"]:
                        yield command[1:]
                    command = []
                elif word not in ("$", "do"):
                    command.append(word)


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in PAGES if list(python(p))], ids=lambda page: page.name)
def test_the_python_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for code, line in python(page):
        exec(compile("\n" * line + code, str(page), "exec"), names)


@pytest.mark.parametrize("words", [pytest.param(w, id=" ".join(w)) for page in PAGES for w in commands(page)])
def test_a_command_of_a_page_is_understood(words: list[str]) -> None:
    app.parse_args(words, exit_on_error=False)


LINK = re.compile(r"\]\(([^()#\s]+)(?:#[^()\s]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_link_of_a_page_leads_to_a_file(page: Path) -> None:
    text = FENCES.sub("", page.read_text(encoding="utf-8"))
    targets = [t for t in LINK.findall(text) if "://" not in t]
    assert not [t for t in targets if not (page.parent / t).exists()]


def test_the_commands_of_the_readme_can_be_pasted_one_after_another() -> None:
    """None begins a run where another, or the example, has left one."""
    begun = [w for w in commands(ROOT / "README.md") if w[0] in ("train", "tune") and "--resume" not in w]
    folders = [words[words.index("--output") + 1] for words in begun]
    assert "--output example" in (ROOT / "examples" / "solubility.py").read_text("utf-8")
    assert len({*folders, "example"}) == len(folders) + 1


def test_the_pages_are_read() -> None:
    assert ["train", "--output", "run", "--resume"] in list(commands(ROOT / "README.md"))
    assert len(list(python(ROOT / "README.md"))) >= 3

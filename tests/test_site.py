"""What the site is generated from: every command, links that lead to pages, every example with a title and a test."""

from __future__ import annotations

import ast
from pathlib import Path

import commands
import generate
import links
import pytest
import scripts

from ccn.cli import app

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted(p.stem for p in (ROOT / "examples").glob("*.py"))


def test_every_command_has_a_page_with_an_example() -> None:
    pages = commands.pages()
    assert pages.keys() == {name for name in app if not name.startswith("-")}
    assert not [name for name, text in pages.items() if "For example" not in text]


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_has_a_title_and_a_test(name: str) -> None:
    text = ast.get_docstring(ast.parse((scripts.EXAMPLES / f"{name}.py").read_text("utf-8"))) or ""
    assert ": " in text.partition("\n")[0]
    tests = [p.read_text("utf-8") for p in (ROOT / "tests" / "examples").glob("*.py")]
    assert any(f'"{name}"' in t or f'"{name}.py"' in t for t in tests)


@pytest.mark.parametrize(
    ("link", "source", "page", "there"),
    [
        ("docs/trust.md", "README.md", "made/start.md", "../trust.md"),
        ("../../examples/forces.py", "docs/guides/chemist.md", "guides/chemist", "../made/examples/forces.md"),
        ("README.md#five-minutes", "CONTRIBUTING.md", "made/contributing.md", "../made/start.md#five-minutes"),
        ("src/ccn/reference.py", "README.md", "made/start.md", "../../src/ccn/reference.py"),
        ("not/there.md", "README.md", "made/start.md", "not/there.md"),
    ],
)
def test_links_lead_to_the_site(link: str, source: str, page: str, there: str) -> None:
    assert generate.relink(f"see [this]({link}).", ROOT / source, page) == f"see [this]({there})."


def test_every_page_is_in_the_index() -> None:
    listed = generate.with_others((ROOT / "docs" / "index.md").read_text("utf-8")).splitlines()
    assert "OTHERS" not in listed
    assert not [p.stem for p in (ROOT / "docs").glob("*.md") if p.stem not in (*listed, "index")]


def test_broken_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "b.html").write_text('<p id="x"></p>')
    (tmp_path / "a.html").write_text('<a href="b.html#x"></a><a href="b.html">b</a><a href="https://example.org">c</a>')
    assert not list(links.broken(tmp_path))
    (tmp_path / "c.html").write_text(
        '<a href="b.html#y"></a><a href="d.html"></a><script src="https://example.org/x.js"></script><img src="e.png">'
    )
    assert len(list(links.broken(tmp_path))) == 4

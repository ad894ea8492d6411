"""Figures: files, and elements of a page whose colours and names are its own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ccn.reports.figures import COLOURS, INK, Picture, inline_svg, slug, wrapped, write_pictures


def draw(figure: Any) -> None:
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color=COLOURS[0], label="a $b_c < d")
    axes.set_title(wrapped("a long title with $ in it " * 4))
    axes.legend()


def test_a_picture_is_two_files_and_an_element_with_names_of_its_own(tmp_path: Path) -> None:
    pictures = [Picture(name, f"<{name}>", draw) for name in ("a", "b")]
    svgs = write_pictures(pictures, tmp_path / "figures")
    for picture in pictures:
        assert (tmp_path / "figures" / f"{picture.name}.png").read_bytes().startswith(b"\x89PNG")
        assert INK in (tmp_path / "figures" / f"{picture.name}.svg").read_text()
    a, b = (inline_svg(picture, svgs[picture.name]) for picture in pictures)
    assert "var(--ink)" in a
    assert INK not in a
    assert "&lt;a&gt;" in a
    ids = [set(re.findall(r'\bid="([^"]*)"', svg)) for svg in (a, b)]
    assert not ids[0] & ids[1]
    used = set(re.findall(r'(?:url\(#|href="#)([^")]*)', a))
    assert used <= ids[0]
    assert svgs["a"] == write_pictures(pictures[:1], tmp_path / "again")["a"]
    with pytest.raises(ValueError, match="two"):
        write_pictures([pictures[0], pictures[0]], tmp_path / "twice")


def test_long_names_are_wrapped_not_cut() -> None:
    name = "x" * 100 + " (mL/min/kg) of $5"
    assert wrapped(name, 30).replace("\n", "").replace(" ", "") == name.replace(" ", "")
    assert max(map(len, wrapped(name, 30).split("\n"))) <= 31
    assert slug("LOG HLM_CLint (mL/min/kg)") == "log-hlm-clint-ml-min-kg"
    assert slug("溶解度") == "target"

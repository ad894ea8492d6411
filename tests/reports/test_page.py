"""Pages: what comes from data is escaped."""

from __future__ import annotations

from markupsafe import Markup

from ccn.reports.figures import Picture
from ccn.reports.page import Fact, Section, bullets, details, paragraph, render, table, tiles

BAD = "<script>alert(1)</script>"


def test_text_is_escaped_everywhere() -> None:
    blocks = [
        paragraph(BAD),
        paragraph("a {b}", b=BAD),
        bullets([BAD]),
        table([BAD, "x"], [[BAD, BAD]]),
        tiles([(Markup("<svg></svg>"), [BAD, BAD])]),
        details(BAD, paragraph(BAD)),
    ]
    text = render(BAD, [Section(BAD, blocks), Section("b", [])], facts=[Fact(BAD, BAD, BAD)], lead=BAD)
    assert "<script" not in text
    assert text.count("&lt;script&gt;") == 18
    assert "<svg></svg>" in text


def test_pictures_of_a_section_are_found_in_rows_too() -> None:
    a, b, c = (Picture(name, "", lambda figure: None) for name in "abc")
    assert list(Section("x", [a, Markup(""), [b, c]]).pictures) == [a, b, c]


def test_an_empty_head_is_not_shown() -> None:
    assert "<thead>" not in table(["", ""], [["a", "b"]])
    assert "<thead>" in table(["", "b"], [["a", "b"]])

"""Pages in a real browser (Debian's chromium through Playwright): nothing missing, nothing overflowing, readable in the
dark, on a phone and on paper. ``make test-browser`` installs what they need; without it they are skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ccn import CCNRegressor
from ccn.explain.writing import write
from ccn.reports import report as reports
from ccn.reports.gallery import gallery
from ccn.reports.report import write_comparison, write_report
from ccn.reports.run import Run
from ccn.runs.explain import Asked, explain_rows

Make = Callable[..., Run]
WIDTHS = (1280, 390)
COLOURS = (Path(__file__).parents[1] / "colours.js").read_text(encoding="utf-8")
pytestmark = pytest.mark.slow

LOOK = """() => {
  const wide = document.documentElement.clientWidth, faults = [];
  if (document.documentElement.scrollWidth > wide) faults.push("the page is wider than the window");
  for (const one of document.querySelectorAll("body *")) {
    if (one.parentElement.closest(".wide, svg, details:not([open])")) continue;  // which scroll, or are closed
    const box = one.getBoundingClientRect();
    if (box.right > wide + 1) faults.push("beyond the window: " + one.outerHTML.slice(0, 80));
  }
  for (const svg of document.querySelectorAll("svg")) {
    const room = svg.getBoundingClientRect();
    if (svg.closest("details:not([open])")) continue;
    if (room.width < 20 || room.height < 20) faults.push("not drawn: " + svg.outerHTML.slice(0, 80));
    if (!svg.closest(".plot")) continue;
    for (const text of svg.querySelectorAll("text")) {
      const box = text.getBoundingClientRect();
      const inside = box.left > room.left - 3 && box.right < room.right + 3 && box.top > room.top - 3
        && box.bottom < room.bottom + 3;
      if (!inside) faults.push("cut: " + text.textContent);
    }
  }
  return faults;
}"""

CONTRAST = (
    f"() => {{{COLOURS}"
    """
  const faults = [];
  const text = "h1, h2, h3, p, li, th, td:not(.drawing), figcaption span, a, summary, .plot svg text";
  for (const one of document.querySelectorAll(text)) {
    if (!one.textContent.trim() || one.closest("details:not([open])") && !one.matches("summary")) continue;
    const style = getComputedStyle(one), svg = one.matches("svg text");
    const ink = parts(svg ? style.fill : style.color), page = behind(one);
    const [a, b] = [light(ink), light(page)].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5 && !one.closest(".plot svg g[id*=confusion]"))
      faults.push(one.textContent.slice(0, 40) + " " + style.fill + " on " + page);
  }
  return faults;
}"""
)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, run_of: Make) -> dict[str, Path]:
    """Reports of a regression, of classes and of eight targets, a comparison, and a table of molecules."""
    root = tmp_path_factory.mktemp("pages")
    runs = {"numbers": ("regression", 1), "classes": ("binary", 1), "eight": ("multilabel", 8)}
    made = {}
    with pytest.MonkeyPatch.context() as patch:
        for name, (kind, targets) in runs.items():
            (root / name).mkdir()
            patch.setattr(reports, "read_run", lambda folder, k=kind, t=targets: run_of(k, t, folder=folder))
            made[name] = write_report(root / name)
        patch.setattr(reports, "read_run", lambda folder: replace(run_of("regression"), folder=folder))
        made["compared"] = write_comparison([root / "numbers", root / "second"], root / "compared.html")
    rows = [[f"<b>m{i}</b>", "C" * (1 + i % 9) + "O", f"{(7 * i) % 30 - 4}.5", "", "CN" * 20] for i in range(30)]
    made["molecules"] = root / "molecules.html"
    made["molecules"].write_text(
        gallery(
            "new", ["name", "smiles", "a very long name of a column_pred", "reason", "neighbour_1"], rows, [1, 4], 30
        )
    )
    smiles = [f"{'C' * n}{end}" for n in range(1, 8) for end in ("O", "N", "c1ccccc1")]
    model = CCNRegressor(method="gp").fit(smiles, [float(len(s)) for s in smiles]).model_
    why = explain_rows(model, ["a" * 80, "b"], ["CCc1ccccc1O", "OB(O)CN"], None, Asked(neighbours=1), page=True)
    made["why"] = root / "why.html"
    write(why.cards, made["why"], "Why a very long name of a column?", ["about"])
    return made


def visit(browser: Any, path: Path, width: int = 1280, **how: Any) -> tuple[Any, list[str]]:
    """A page, and whatever the browser has to complain about."""
    page = browser.new_page(viewport={"width": width, "height": 900}, **how)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on(
        "request", lambda request: said.append(request.url) if request.url.split(":")[0] not in ("file", "data") else 0
    )
    page.on("requestfailed", lambda request: said.append(request.url))
    page.goto(path.as_uri())
    return page, said


NAMES = ["numbers", "classes", "eight", "compared", "molecules", "why"]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_missing_and_nothing_overflows(name: str, width: int, browser: Any, pages: dict[str, Path]) -> None:
    page, said = visit(browser, pages[name], width)
    assert page.evaluate(LOOK) == []
    assert said == []
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", NAMES)
def test_text_can_be_read_in_the_light_and_in_the_dark(
    name: str, scheme: str, browser: Any, pages: dict[str, Path]
) -> None:
    page, _ = visit(browser, pages[name], color_scheme=scheme)
    assert page.evaluate(CONTRAST) == []
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (scheme == "dark")
    page.close()


def test_a_report_is_printed_on_white_paper(browser: Any, pages: dict[str, Path], tmp_path: Path) -> None:
    page, _ = visit(browser, pages["numbers"], width=720, color_scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert not page.is_visible("nav")
    page.pdf(path=tmp_path / "report.pdf", format="A4")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
    page.close()


def test_molecules_are_sorted_and_filtered(browser: Any, pages: dict[str, Path]) -> None:
    page, said = visit(browser, pages["molecules"])
    column = (
        "Array.from(document.querySelectorAll('#rows tbody tr:not([hidden])')).map(row => row.cells[3].textContent)"
    )
    page.click("#rows th:nth-child(4) button")
    values = [float(v) for v in page.evaluate(column)]
    assert values == sorted(values)
    page.click("#rows th:nth-child(4) button")
    assert [float(v) for v in page.evaluate(column)] == sorted(values, reverse=True)
    page.fill("#least", "10")
    assert [float(v) for v in page.evaluate(column)] == sorted((v for v in values if v >= 10), reverse=True)
    page.fill("#text", "<b>m0</b>")
    assert page.evaluate(column) == []
    page.fill("#least", "")
    assert len(page.evaluate(column)) == 1
    assert page.inner_text("#rows tbody tr:not([hidden]) td:nth-child(2)") == "<b>m0</b>"
    assert said == []
    page.close()

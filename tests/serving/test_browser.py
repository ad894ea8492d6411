"""The page in a real browser, through everything it does; ``make test-browser`` installs what it needs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

EDITOR = Path(__file__).parents[2] / "src" / "ccn" / "serving" / "editor" / "openchemlib.js"
COLOURS = (Path(__file__).parents[1] / "colours.js").read_text(encoding="utf-8")
pytestmark = pytest.mark.slow

OVERFLOW = """() => {
  const wide = document.documentElement.clientWidth, faults = [];
  if (document.documentElement.scrollWidth > wide) faults.push("the page is wider than the window");
  for (const one of document.querySelectorAll("body *")) {
    const box = one.getBoundingClientRect();
    if (box.width && box.right > wide + 1 && !one.closest("svg, .skip, details:not([open])"))
      faults.push(one.outerHTML.slice(0, 100));
  }
  return faults;
}"""
NAMELESS = """() => [...document.querySelectorAll("button, input, select, textarea, img, [role=img]")]
  .filter(one => one.checkVisibility() && !one.closest("#canvas"))
  .filter(one => !(one.textContent.trim() || one.getAttribute("aria-label") || one.hasAttribute("alt")
    || (one.labels && one.labels.length)))
  .map(one => one.outerHTML.slice(0, 100))"""
CONTRAST = (
    f"() => {{{COLOURS}"
    """
  const text = "h1, h2, h3, h4, p, label, legend, summary, button, .badge, .name, .big, figcaption, a";
  return [...document.querySelectorAll(text)]
    .filter(one => one.textContent.trim() && one.checkVisibility() && !one.disabled && !one.matches(".skip"))
    .filter(one => {
      const [a, b] = [light(parts(getComputedStyle(one).color)), light(behind(one))].sort((x, y) => y - x);
      return (a + 0.05) / (b + 0.05) < 4.5;
    }).map(one => one.textContent.slice(0, 40));
}"""
)


@pytest.fixture
def visit(browser: Any, address: str) -> Iterator[Any]:
    """Opens the page; whatever the browser complains about, or fetches from elsewhere, fails the test."""
    opened, said = [], []

    def go(after: str = "", width: int = 1280, **how: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, **how)
        context.set_default_timeout(60_000)
        context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else 0)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append("a dialog: " + dialog.message))
        page.on("request", lambda r: said.append(r.url) if not r.url.startswith((address, "data:", "blob:")) else 0)
        page.goto(address + "/" + after)
        page.wait_for_selector("#models input")
        opened.append(context)
        return page

    yield go
    for context in opened:
        context.close()
    assert said == []


def predict(page: Any, text: str) -> None:
    page.fill("#molecules", text)
    page.click("#go")
    done(page, text.strip().count("\n") + 1)


def done(page: Any, count: int) -> None:
    page.wait_for_selector(f"#cards article:nth-child({count})")
    page.wait_for_selector(".wait", state="detached")


def test_molecules_stand_side_by_side_with_reasons(visit: Any) -> None:
    page = visit()
    predict(page, "CCCO propanol\nCCc1ccccc1 a ring")
    assert page.locator("#cards h3").all_inner_texts() == ["propanol", "a ring"]
    assert page.locator("#cards .badge").count() == 2
    assert page.locator("#cards .big").count() == 4
    first = page.locator("#cards article").first
    assert first.locator(".over circle[data-atom]").count() == 4
    first.locator("circle[data-atom='3']").hover()
    assert "atom 3 (O)" in first.locator("figcaption").first.inner_text()
    assert "receptive field: 1, 2, 3" in first.locator("figcaption").first.inner_text()
    assert first.locator(".over .field").count() == 2
    first.get_by_role("button", name="Pairs").click()
    assert first.get_by_role("img", name="Pairs of atoms").is_visible()
    first.locator(".near figure").nth(2).wait_for()
    first.get_by_label("Explained target").select_option("oxygens")
    first.get_by_role("img", name="Contributions of atoms to oxygens").wait_for()


def test_a_prediction_is_rounded_as_its_interval_is(visit: Any) -> None:
    page = visit()
    predict(page, "CCCO")
    one = page.locator("#cards .value", has=page.locator(".range")).first
    texts = [one.locator(".big").inner_text(), *one.locator(".ends span").first.inner_text().split(" to ")]
    assert len({len(text.partition(".")[2]) for text in texts}) == 1
    low, high = (float(text.replace("\N{MINUS SIGN}", "-")) for text in texts[1:])
    bar = one.locator(".range svg rect").first
    assert 0 < float(bar.get_attribute("x")) < 100 - float(bar.get_attribute("width"))
    assert low < high


def test_levels_that_a_model_cannot_have_cannot_be_chosen(visit: Any, address: str) -> None:
    page = visit()
    widest = page.request.get(address + "/models").json()[0]["intervals"]
    levels = page.locator("#coverage option").evaluate_all("all => all.map(one => [Number(one.value), one.disabled])")
    assert len(levels) > 2
    assert all(disabled == (level > widest) for level, disabled in levels)
    assert float(page.input_value("#coverage") or 0) <= widest


def test_atoms_are_reached_by_the_keyboard_alone(visit: Any) -> None:
    page = visit()
    page.locator("#molecules").focus()
    page.keyboard.type("CCO")
    page.keyboard.press("Control+Enter")
    done(page, 1)
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.atom || ''"):
            break
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("atom 1, C")
    assert "atom 1 (C)" in page.locator("#cards figcaption").first.inner_text()


def test_several_models_and_their_conditions(visit: Any) -> None:
    page = visit()
    page.check("#models input[value=warm]")
    page.get_by_label("warmth").fill("3")
    predict(page, "CCCO")
    assert page.locator("#cards .answer").count() == 2
    assert page.locator("#cards .problem").count() == 0


def test_a_link_restores_what_is_shown(visit: Any, browser: Any) -> None:
    page = visit()
    page.check("#models input[value=warm]")
    page.get_by_label("warmth").fill("3")
    predict(page, "CCCO propanol\nCCN")
    page.get_by_role("button", name="Copy link").click()
    link = page.evaluate("navigator.clipboard.readText()")
    other = visit("#" + link.partition("#")[2])
    done(other, 2)
    assert other.locator("#cards h3").first.inner_text() == "propanol"
    assert other.locator("#cards article").first.locator(".big").all_inner_texts() == (
        page.locator("#cards article").first.locator(".big").all_inner_texts()
    )


def test_a_link_pasted_into_the_open_page_restores_too(visit: Any) -> None:
    page = visit()
    predict(page, "CCCO propanol")
    page.get_by_role("button", name="Copy link").click()
    link = page.evaluate("navigator.clipboard.readText()")
    predict(page, "CCN")
    page.evaluate("location.hash = 'results'")  # as by the link that skips to the results
    page.get_by_role("button", name="Copy link").click()
    assert "molecules=CCN" in page.evaluate("navigator.clipboard.readText()")
    page.evaluate("link => { location.href = link; }", link)
    page.get_by_role("heading", name="propanol").wait_for()
    assert page.locator("#models input").count() == 2


def test_a_token_is_asked_for_until_it_is_right(browser: Any, address: str) -> None:
    page = browser.new_page()

    def guard(route: Any) -> None:
        right = route.request.headers.get("authorization") == "Bearer right"
        route.continue_() if right else route.fulfill(status=401, json={"detail": "a token is needed"})

    page.route("**/models", guard)
    page.route("**/predict", guard)
    page.goto(address + "/")
    for given in ("wrong", "right"):
        page.get_by_label("Token", exact=True).fill(given)
        page.get_by_role("button", name="Use it").click()
        page.locator("#token-fault:not(:empty)" if given == "wrong" else "#models input").first.wait_for()
    page.evaluate("sessionStorage.clear()")  # as when the server was started again with another one
    page.fill("#molecules", "CCO")
    page.click("#go")
    page.get_by_label("Token", exact=True).fill("right")
    page.get_by_role("button", name="Use it").click()
    done(page, 1)
    assert page.locator("#models input").count() == page.locator("#upload-model option").count() == 2
    page.context.close()


def test_a_wrong_smiles_is_marked_where_it_is_wrong(visit: Any) -> None:
    page = visit()
    predict(page, "CC(C unclosed\nCCO")
    assert page.locator("#faults mark").inner_text() == "("
    assert "'(' at character 3 is not closed" in page.locator("#faults").inner_text()
    assert page.locator("#cards .problem").count() == 1


def test_names_are_text_wherever_they_stand(visit: Any) -> None:
    page = visit()
    nasty = "<img/src=x onerror=alert(1)><script>alert(2)</script>"
    predict(page, f"CCO {nasty}\n<b>bold</b> {nasty}")
    assert page.locator("#cards h3").first.inner_text() == nasty
    assert page.locator("#cards img[src=x], #cards script, #cards b").count() == 0
    attack = visit(
        "#molecules=" + "CCO%20%22%3E%3Cscript%3Ealert(1)%3C/script%3E" + "&models=%5B%22network%22%5D&columns=%7B"
    )
    done(attack, 1)
    assert attack.locator("#cards script").count() == 0


def test_copies_as_csv_and_image(visit: Any) -> None:
    page = visit()
    predict(page, "CCO =name\nCCN")
    page.get_by_role("button", name="Copy as CSV").click()
    text = page.evaluate("navigator.clipboard.readText()")
    assert text.splitlines()[0].startswith("smiles,name,size_pred")
    assert text.splitlines()[1].startswith("CCO,'=name,")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save CSV").click()
    assert Path(saved.value.path()).read_text().splitlines() == text.splitlines()
    page.locator("#cards").get_by_role("button", name="Copy image").first.click()
    page.locator("#cards").get_by_role("button", name="Copied").wait_for()
    kinds = page.evaluate("navigator.clipboard.read().then(items => items[0].types)")
    assert "image/png" in kinds
    with page.expect_download() as saved:
        page.locator("#cards").get_by_role("button", name="Save SVG").first.click()
    assert Path(saved.value.path()).read_text().startswith("<svg")


def test_a_table_is_uploaded_watched_and_fetched(visit: Any, table: Path, tmp_path: Path) -> None:
    page = visit()
    page.set_input_files("#table", str(table))
    page.get_by_role("button", name="Upload").click()
    page.get_by_role("button", name="Download").wait_for()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download").click()
    assert saved.value.suggested_filename == "table-predicted.csv"
    lines = Path(saved.value.path()).read_text().splitlines()
    assert len(lines) == len(table.read_text().splitlines())
    assert "size_pred" in lines[0]
    page.get_by_role("button", name="Remove").click()
    page.wait_for_selector("#jobs li", state="detached")
    bad = tmp_path / "x.exe"
    bad.write_text("no")
    page.set_input_files("#table", str(bad))
    page.get_by_role("button", name="Upload").click()
    page.locator("#jobs .problem").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390, 320])
def test_it_fits_and_can_be_read(width: int, scheme: str, visit: Any) -> None:
    page = visit(width=width, color_scheme=scheme, has_touch=width < 500)
    predict(page, "CCCO\nCC(C a-very-long-name-" + "x" * 80 + "\n" + "C" * 59 + "O")
    assert page.evaluate(OVERFLOW) == []
    assert page.evaluate(NAMELESS) == []
    assert page.evaluate(CONTRAST) == []


@pytest.mark.skipif(not EDITOR.is_file(), reason="make editor fetches it")
def test_a_molecule_is_drawn(visit: Any) -> None:
    page = visit()
    page.get_by_role("button", name="Draw a molecule").click()
    page.wait_for_selector("#canvas > *", state="attached")
    box = page.locator("#canvas").bounding_box()
    page.wait_for_timeout(1000)
    page.mouse.click(box["x"] + 300, box["y"] + 200)  # a bond, with the tool that is chosen at first
    page.get_by_role("button", name="Add to the list").click()
    assert page.locator("#molecules").input_value().strip() == "CC"

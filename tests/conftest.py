"""What tests of several rooms share."""

import html
import os
import shutil
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ccn.files import cache_folder

# Processes that tests start find the compiled kernels, also where a test has a cache folder to itself; and each process
# of `pytest -n` computes on a core to itself. Set before torch is imported.
os.environ.setdefault("CCN_KERNELS", str(cache_folder()))
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture
def peak() -> Callable[[Callable[[], Any]], int]:
    """Calls a function and returns the most bytes that numpy and Python held for it at a time."""

    def measure(function: Callable[[], Any]) -> int:
        tracemalloc.start()
        try:
            function()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    return measure


@pytest.fixture(scope="session")
def report_text() -> Callable[[Path], str]:
    """What the report of a run says, without its figures, which take time."""

    def text(folder: Path) -> str:
        from markupsafe import Markup

        from ccn.reports.run import read_run
        from ccn.reports.sections import SECTIONS

        run = read_run(folder)
        sections = [made for build in SECTIONS if (made := build(run)) is not None]
        return html.unescape("\n".join(str(b) for s in sections for b in s.blocks if isinstance(b, Markup)))

    return text


@pytest.fixture(scope="module")  # while it is open Playwright's event loop runs, in which no other can
def browser() -> Iterator[Any]:
    """Debian's chromium; its tests are skipped without it, or fail where CCN_TEST_BROWSER asks for them."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sync_playwright = None
    if sync_playwright is None or found is None:
        what = "Playwright" if sync_playwright is None else "chromium"
        (pytest.fail if os.environ.get("CCN_TEST_BROWSER") else pytest.skip)(
            f"no {what}: make test-browser installs it"
        )
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield made
        made.close()

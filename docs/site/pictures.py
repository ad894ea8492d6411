"""The pictures of the README and the documentation, made by commands: ``make pictures``.

A small run of made-up solubilities (``examples/solubility.py``), its report, an explanation and the page of
``ccn serve``, and schemes of aspirin. Pages are photographed in Debian's chromium by Playwright; every
file is below 300 kB.
"""

from __future__ import annotations

import os
import runpy
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ccn.cli import app

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "pictures"
ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"
ASKED = "CC(=O)Nc1ccc(O)cc1 paracetamol\nCCCCc1ccccc1 butylbenzene"
MOST = 300_000
_COMMANDS = (
    f"draw '{ASPIRIN}' --levels 2 -o {{}}/scheme.png",
    f"draw '{ASPIRIN}' --scheme rings -o {{}}/rings.png",
)


def make() -> None:
    """Make all pictures again."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for line in _COMMANDS:
            app(shlex.split(line.format(folder)), exit_on_error=False, result_action="return_value")
        runpy.run_path(str(ROOT / "examples" / "solubility.py"))["main"]()
        photograph(folder)
        for path in sorted(PICTURES.glob("*.png")):
            if path.stat().st_size > MOST:
                raise RuntimeError(f"{path}: {path.stat().st_size:,} bytes, more than {MOST:,}")
            print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")


def photograph(folder: str) -> None:
    """Take pictures of the report, of the explanation, of the schemes and of the page of ``ccn serve``."""
    from playwright.sync_api import sync_playwright

    shots = {
        "report": ("example/report.html", 1100, 820),
        "why": ("why.svg", 720, 420),
        "scheme": ("scheme.png", 1000, 800),
        "rings": ("rings.png", 1000, 800),
    }
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for name, (file, width, height) in shots.items():
            page = browser.new_page(viewport={"width": width, "height": height})
            if file.endswith(".html"):
                page.goto(f"file://{folder}/{file}")
                page.screenshot(path=str(PICTURES / f"{name}.png"))
            else:
                page.set_content(f'<body style="margin:0;background:white"><img src="data:{_data(folder, file)}" '
                                 f'style="display:block;max-width:{width}px">')  # fmt: skip
                page.locator("img").screenshot(path=str(PICTURES / f"{name}.png"))
        with _served(f"{folder}/example") as address:
            page = browser.new_page(viewport={"width": 1100, "height": 1400})
            page.goto(f"{address}#molecules={quote(ASKED)}")
            page.wait_for_selector("#cards article:nth-child(2)")
            page.wait_for_selector(".wait", state="detached", timeout=120_000)
            page.wait_for_load_state("networkidle")
            page.evaluate("scrollTo(0, 0)")
            page.screenshot(path=str(PICTURES / "serving.png"))
        browser.close()


@contextmanager
def _served(run: str) -> Iterator[str]:
    """The address at which a run is served."""
    words = [sys.executable, "-m", "ccn", "serve", run, "--port", "0", "--workers", "1"]
    server: Any = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield next(line[line.index("http") :].strip() for line in server.stdout if "http" in line)
    finally:
        server.terminate()
        server.wait()


def _data(folder: str, file: str) -> str:
    """A file as the rest of a data URL."""
    import base64

    kind = "image/svg+xml" if file.endswith(".svg") else "image/png"
    return f"{kind};base64,{base64.b64encode((Path(folder) / file).read_bytes()).decode()}"


if __name__ == "__main__":
    make()

"""A page for every example: its docstring, its code, and what it prints when it is run for the site.

The first line of the docstring is ``Title: a sentence``; the rest is Markdown.
"""

from __future__ import annotations

import ast
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
_CODE = "```{{literalinclude}} ../../../examples/{name}\n:language: python\n:lines: {start}-\n```\n"
SHOWN_ONLY = {"epoch_picked_on_test"}  # trains for many minutes, and its figures stand in results.md


def pages(cache: Path) -> dict[str, str]:
    """The page of each example by the name of its file, as Markdown."""
    out = {}
    for path in sorted(EXAMPLES.glob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        text = ast.get_docstring(tree) or ""
        first, _, rest = text.partition("\n")
        title, colon, sentence = first.partition(": ")
        printed = "" if path.stem in SHOWN_ONLY or os.environ.get("CCN_DOCS_FAST") else _printed(path, cache)
        shown = f"It prints\n\n```text\n{printed}```" if printed else ""
        start = (tree.body[0].end_lineno or 0) + 2
        sentence = sentence[:1].upper() + sentence[1:]
        text = f"{sentence}\n{rest}" if colon else rest
        code = _CODE.format(name=path.name, start=start)
        out[path.stem] = "\n\n".join([f"# {title.rstrip('.')}", text.strip(), shown, code])
    return out


def _printed(path: Path, cache: Path) -> str:
    """What an example prints on standard output, in an empty folder; kept while neither it nor the package changes."""
    sources = [path, *sorted((ROOT / "src").rglob("*.py"))]
    key = hashlib.sha256(b"".join(p.read_bytes() for p in sources)).hexdigest()[:16]
    kept = cache / "examples" / f"{path.stem}-{key}.txt"
    if not kept.exists():
        with tempfile.TemporaryDirectory() as folder:
            quiet = {"PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1"}
            there = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **quiet}
            command = [sys.executable, str(path)]
            done = subprocess.run(command, cwd=folder, env=there, capture_output=True, text=True, timeout=900)
        if done.returncode:
            raise RuntimeError(f"{path}: exit code {done.returncode}\n{done.stderr}")
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(done.stdout, encoding="utf-8")
    return kept.read_text("utf-8")

"""The tables of ``docs/reliability.md``, which ``python -m tests.fuzz.page`` writes anew from the last reports."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ccn.reports.markup import markdown

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results" / "reliability"
REPORT, ATHERIS = RESULTS / "fuzz.json", RESULTS / "atheris.json"


def table(report: dict[str, Any]) -> str:
    """The counts of a report as a table, and its failures and extremes as a sentence."""
    keys = ("inputs", "read", "refused", "rows")
    rows = [[name, *(f"{of[key]:,}" for key in keys)] for name, of in report["kinds"].items()]
    rows.append(["all", *(f"{sum(of[key] for of in report['kinds'].values()):,}" for key in keys)])
    failed = ", ".join(f"{count} {name}" for name, count in report["failures"].items())
    made = markdown(["kind", "inputs", "read", "refused", "rows counted twice"], rows, "lrrrr")
    return (
        f"{made.strip()}\n\nSeed {report['seed']}; failures: {failed}. The slowest command took "
        f"{report['slowest_seconds']} seconds of processor time, the largest {report['largest_megabytes']:,} MB."
    )


def atheris_table(report: dict[str, Any]) -> str:
    """What Atheris tried with each reader."""
    keys = ("inputs", "branches", "failures")
    rows = [[one["reader"], *(f"{one[key]:,}" for key in keys)] for one in report["readers"]]
    made = markdown(["reader", *keys], rows, "lrrr")
    return f"{made.strip()}\n\nSeed {report['seed']}, {report['seconds']} seconds for each reader."


TABLES: tuple[tuple[str, Path, Callable[[dict[str, Any]], str]], ...] = (
    ("fuzz", REPORT, table),
    ("atheris", ATHERIS, atheris_table),
)


def between(page: str, name: str) -> tuple[str, str, str]:
    """What is before the table of this name, the table, and what is after it."""
    before, begin, rest = page.partition(f"<!-- {name} -->\n")
    inner, end, after = rest.partition(f"\n<!-- end {name} -->")
    return before + begin, inner, end + after


def main() -> None:
    """Write the tables between their marks."""
    page = ROOT / "docs" / "reliability.md"
    text = page.read_text(encoding="utf-8")
    for name, report, made in TABLES:
        before, _, after = between(text, name)
        text = before + made(json.loads(report.read_text(encoding="utf-8"))) + after
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

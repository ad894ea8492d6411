"""The table of ``docs/reliability.md``, which ``python -m tests.fuzz.page`` writes anew from the last report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ccn.reports.markup import markdown

ROOT = Path(__file__).parents[2]
REPORT = ROOT / "results" / "reliability" / "fuzz.json"
BEGIN, END = "<!-- fuzz -->", "<!-- end fuzz -->"


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


def main() -> None:
    """Write the table between its marks."""
    page = ROOT / "docs" / "reliability.md"
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    text = table(json.loads(REPORT.read_text(encoding="utf-8")))
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()

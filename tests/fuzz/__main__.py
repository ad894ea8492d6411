"""``python -m tests.fuzz``: try many damaged inputs in processes that are watched, count, and keep those that fail."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tests.fuzz.runner import run, summary


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=10_000, help="how many in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--kind", action="append", help="only of this kind; repeat it for several")
    parser.add_argument("--number", type=int, help="only the input of this number, of one kind")
    parser.add_argument("--report", type=Path, help="JSON file for the counts")
    parser.add_argument("--failures", type=Path, default=Path("fuzz-failures"), help="folder for inputs that fail")
    return parser.parse_args()


def main() -> int:
    """The exit code is 1 if an input failed."""
    given = _arguments()
    report = run(given.inputs, given.seed, given.processes, given.failures, given.kind, given.number)
    if given.report is not None:
        given.report.parent.mkdir(parents=True, exist_ok=True)
        given.report.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(summary(report))
    return int(any(report["failures"].values()))


if __name__ == "__main__":
    sys.exit(main())

"""The report of a run: from its folder to one HTML file that opens anywhere, and its figures as files.

The data that flow: a run's folder -> :class:`~ccn.reports.run.Run` -> sections (:mod:`ccn.reports.sections`) ->
figures, written to ``figures/`` -> ``report.html``. Nothing is predicted or fitted again, so that a report can be made
again long after the data are gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ccn.datasets import Dataset
from ccn.datasets.findings import describe
from ccn.datasets.splits import Split
from ccn.errors import FileError
from ccn.expressivity.alike import SAME, Alike, alike
from ccn.files import write_atomically
from ccn.learning.metrics import LABELS, SMALLER
from ccn.reports.comparison import compare
from ccn.reports.expressivity import expressivity_section, spoken
from ccn.reports.figures import write_pictures
from ccn.reports.page import Fact, Section, render
from ccn.reports.run import Run, read_run
from ccn.reports.sections import SECTIONS
from ccn.reports.sections.data import data_sections
from ccn.reports.summary import figure

__all__ = ["FIGURES", "REPORT", "write_comparison", "write_data_page", "write_expressivity_page", "write_report"]

REPORT, FIGURES = "report.html", "figures"
_SHOWN = 3  # targets that a title names


def write_report(folder: str | Path, output: str | Path | None = None) -> Path:
    """Write the report of the run in a folder; by default it is ``report.html`` there. The figures are beside it."""
    run = read_run(Path(folder))
    path = run.folder / REPORT if output is None else Path(output)
    sections = [section for build in SECTIONS if (section := build(run)) is not None]
    return _write(path, _title(run), sections, _facts(run), run.data["said"])


def write_comparison(folders: Sequence[str | Path], path: str | Path) -> Path:
    """Write a page that compares runs on the rows that all of them have predicted."""
    title, facts, sections = compare([read_run(Path(folder)) for folder in folders])
    return _write(Path(path), title, sections, facts, f"Compared with {Path(folders[0]).name}, the first")


def write_data_page(data: Dataset, path: str | Path) -> Path:
    """Write a page about data: molecules, distributions of targets, repeated molecules, salts and cliffs."""
    rows = np.arange(len(data))
    d = describe(data, Split(rows, rows[:0], rows[:0]))
    facts = [Fact(f"{len(data):,}", "molecules" if d["molecules"] else "graphs")]
    facts += [Fact(f"{sum(d['dropped'].values()):,}", "rows dropped"), Fact(f"{len(d['targets']):,}", "targets")]
    sections = data_sections(d)
    if not (data.pack.directed or data.pack.self_loops):
        sections.append(expressivity_section(alike(data.pack), data))
    return _write(Path(path), data.name, sections, facts, d["said"])


def write_expressivity_page(found: Alike, data: Dataset, path: str | Path, most: int) -> Path:
    """Write a page about what can be told apart in a data set, with drawings of at most so many pairs."""
    facts = [Fact(f"{len(data):,}", "graphs")]
    facts += [Fact(f"{found.graphs_alike(v):,}", "look alike", spoken(v)) for v in found.views if v != SAME]
    return _write(Path(path), data.name, [expressivity_section(found, data, most)], facts, repr(data))


def _write(path: Path, title: str, sections: Sequence[Section], facts: Sequence[Fact], said: str) -> Path:
    """Write a page, and its figures beside it."""
    if not path.parent.is_dir():
        raise FileError(f"{path.parent}: there is no such folder for the page")
    pictures = [p for section in sections for p in section.pictures]
    svgs = write_pictures(pictures, path.parent / FIGURES)
    write_atomically(path, render(title, sections, facts=facts, lead=f"{said}.", svgs=svgs).encode())
    return path


def _title(run: Run) -> str:
    labels = [run.label(t) for t in range(min(_SHOWN, len(run.task.targets)))]
    more = len(run.task.targets) - len(labels)
    return f"{', '.join(labels)}{f' and {more} more' if more > 0 else ''} from {run.data['name']}"


def _facts(run: Run) -> list[Fact]:
    """What a reader looks for first."""
    made = []
    for name in run.shared[:2]:
        if (value := run.tested.get(name)) is not None:
            sure = run.intervals.get(name)
            note = f"95 %: {figure(sure.low)} to {figure(sure.high)}" if sure and np.isfinite(sure.half_width) else ""
            unit = run.unit(0) if len(run.task.targets) == 1 and name in SMALLER else ""
            made.append(Fact(f"{figure(value)} {unit}".strip(), f"{LABELS.get(name, name)}, {run.part}", note))
    interval = run.metrics.get("interval") or {}
    if interval.get("coverage") is not None:
        level = f"{100 * interval['level']:.0f} % intervals"
        made.append(Fact(f"{100 * interval['coverage']:.0f} %", f"covered by {level}", f"{interval['rows']:,} rows"))
    graphs = run.metrics["graphs"]
    made.append(Fact(f"{graphs['train']:,}", "training rows", f"{len(run.rows):,} {run.part}"))
    made.append(Fact(str(run.config["method"]), "method", f"{run.metrics['seconds']:.0f} s"))
    return made

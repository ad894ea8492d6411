"""The sections of a report, one function each, in the order in which they are read.

A builder is given the run and returns its section, or None if the run has nothing to show there. A new section is a
function and its place in ``SECTIONS``. May import the other modules of reports.
"""

from __future__ import annotations

from collections.abc import Callable

from ccn.reports.page import Section
from ccn.reports.run import Run
from ccn.reports.sections.data import faults, learned, parts
from ccn.reports.sections.performance import curves, leaderboard, measured
from ccn.reports.sections.predictions import distances, predictions, worst
from ccn.reports.sections.settings import settings
from ccn.reports.sections.substructures import substructures

__all__ = ["SECTIONS"]

SECTIONS: list[Callable[[Run], Section | None]] = [
    learned,
    measured,
    predictions,
    worst,
    distances,
    substructures,
    leaderboard,
    curves,
    faults,
    parts,
    settings,
]

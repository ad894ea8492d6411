"""``ccn report``: a page about a run, or about several beside each other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ccn.cli.options import Output

__all__ = ["report"]

_RUN = "Folder of a finished run."


def report(
    run: Annotated[Path, Parameter(help=_RUN)],
    /,
    *others: Annotated[Path, Parameter(help="Further runs, to compare with the first.")],
    output: Annotated[Path | None, Output] = None,
) -> None:
    """Write a page about a run: one HTML file that opens without a network, prints, and can be mailed.

    For example, `ccn report run`, or `ccn report run another -o comparison.html`. `ccn train` does so at its end,
    unless --no-report is given.

    The report shows the data, metrics with confidence intervals, predicted against measured values, the largest errors,
    errors by distance from the training data, informative substructures, the members, data quality, the split and the
    settings. It is built from the files in the folder, without the data; only the largest errors are explained anew by
    the model. The figures are also written to figures/, as SVG and PNG.

    Several runs are compared on the rows that all of them have predicted: metrics, paired differences with intervals
    and p-values, and the molecules on which they differ most. Give them one split: `ccn train --splits-file`.

    Args:
        output: The file, by default report.html in the folder of the run, or comparison.html here.
    """
    from ccn.reports.report import write_comparison, write_report

    if others:
        print(f"comparison: {write_comparison([run, *others], output or Path('comparison.html'))}")
    else:
        print(f"report: {write_report(run, output)}")

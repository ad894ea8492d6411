"""``ccn predict``: a table with predictions added."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ccn.cli.options import Flag

__all__ = ["predict"]


def predict(
    model: Path,
    source: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    output: Annotated[str, Parameter(name=("--output", "-o"))] = "-",
    interval: float | None = None,
    smiles_column: Annotated[str | None, Parameter(name=("--smiles-column", "--smiles-columns"))] = None,
    resume: Flag = False,
    overwrite: Flag = False,
    cluster: str | None = None,
    threads: int | None = None,
    device: str = "cpu",
    chunk: int = 1000,
    quiet: Flag = False,
    json: Flag = False,
) -> None:
    """Predict for every row of a table of molecules, of any length, in constant memory.

    For example, `ccn predict run new.csv -o out.csv --interval 0.9`, or `cat new.csv | ccn predict run - > out.csv`.

    All columns and the order of the rows are kept; `<target>_pred` is added, for classes with a probability of each,
    for numbers with `<target>_low` and `<target>_high` if an interval is asked for. A row that is no molecule has
    empty cells and says why in the column `reason`. A prediction that was cut goes on with --resume.

    Parameters
    ----------
    model: Path
        A model file or the folder of a run.
    source: str
        A table of molecules, or for a model of graphs a .jsonl file; - reads from standard input.
    output: str
        A .csv or .tsv file, for graphs also .jsonl; - writes to standard output.
    interval: float
        Also where this share of the true values fall, for example 0.9.
    smiles_column: str
        Column of SMILES; by default that of training, or found.
    resume: bool
        Go on where an earlier prediction into this output was cut.
    overwrite: bool
        Begin anew where an earlier prediction was cut.
    cluster: str
        Address of a Dask scheduler to work on, such as tcp://host:8786; local starts one here.
    threads: int
        Processes on this machine; by default one per core.
    device: str
        cpu, cuda or mps.
    chunk: int
        Rows that are done together.
    quiet: bool
        Say nothing but errors.
    json: bool
        Print what was done as JSON: on standard output, or on standard error if that has the table.

    """
    from ccn.cli.show import cut, rows_bar, told
    from ccn.runs.predict import Options, predict_file

    with cut(output, quiet), rows_bar(quiet or json) as tell:
        options = Options(smiles_column, device, threads, cluster, chunk, resume, overwrite, tell)
        done = predict_file(model, source, output, options, interval=interval)
    told(done, output, quiet, json, "a prediction")

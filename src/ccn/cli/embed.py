"""``ccn embed``: the invariant embedding of every molecule of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ccn.cli.options import Flag

__all__ = ["embed"]


def embed(
    model: Path,
    source: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    output: Annotated[str, Parameter(name=("--output", "-o"))] = "-",
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
    """Write the numbers that the last layers of a network read, one row per molecule: features for other methods.

    For example, `ccn embed run molecules.csv -o embeddings.parquet`.

    A .csv or .parquet file keeps all columns and adds e0, e1, .. and reason; a .npy file has the numbers alone.
    A row that is no molecule has none (in .npy: NaN). A command that was cut goes on with --resume.

    Parameters
    ----------
    model: Path
        A model file or the folder of a run.
    source: str
        A table of molecules, or graphs in a .jsonl file; - reads from standard input.
    output: str
        A .parquet, .csv, .tsv or .npy file; - writes a CSV to standard output.
    smiles_column: str
        Column of SMILES; by default that of training, or found.
    resume: bool
        Go on where an earlier command with this output was cut.
    overwrite: bool
        Begin anew where an earlier command was cut.
    cluster: str
        Address of a Dask scheduler to work on; local starts one here.
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
    from ccn.runs.predict import Options, embed_file

    with cut(output, quiet), rows_bar(quiet or json) as tell:
        options = Options(smiles_column, device, threads, cluster, chunk, resume, overwrite, tell)
        done, width = embed_file(model, source, output, options)
    told(done, output, quiet, json, "an embedding", width=width)

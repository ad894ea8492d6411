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
    output: Annotated[Path, Parameter(name=("--output", "-o"))],
    smiles_column: Annotated[str | None, Parameter(name=("--smiles-column", "--smiles-columns"))] = None,
    cluster: str | None = None,
    threads: int | None = None,
    device: str = "cpu",
    quiet: Flag = False,
    json: Flag = False,
) -> None:
    """Write the numbers that the last layers of a network read, one row per molecule: features for other methods.

    For example, `ccn embed run molecules.csv -o embeddings.parquet`.

    A .csv or .parquet file keeps all columns and adds e0, e1, .. and reason; a .npy file has the numbers alone.
    A row that is no molecule has none (in .npy: NaN).

    Parameters
    ----------
    model: Path
        A model file or the folder of a run.
    source: str
        A table of molecules; - reads a CSV from standard input.
    output: Path
        A .parquet, .csv, .tsv or .npy file.
    smiles_column: str
        Column of SMILES; by default that of training, or found.
    cluster: str
        Address of a Dask scheduler to work on; local starts one here.
    threads: int
        Processes on this machine; by default one per core.
    device: str
        cpu, cuda or mps.
    quiet: bool
        Say nothing but errors.
    json: bool
        Print what was done as JSON.

    """
    from ccn.cli.show import print_json, rows_bar, say
    from ccn.prediction.embed import embed_file
    from ccn.prediction.stream import Options

    options = Options(smiles_column, None, device, threads, cluster)
    with rows_bar(quiet or json) as tell:
        done, width = embed_file(model, source, output, options, tell=tell)
    if json:
        what = {"rows": done.rows, "width": width, "without": done.without, "seconds": done.seconds}
        print_json({"output": str(output), **what})
        return
    lacking = f", {done.without:,} without an embedding" if done.without else ""
    say(quiet)(f"{done.rows:,} rows of {width} numbers in {done.seconds:.1f} s{lacking}; written to {output}")

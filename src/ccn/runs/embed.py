"""Embeddings of a table of molecules or of graphs, written chunk by chunk as CSV, Parquet or a plain array."""

from __future__ import annotations

from pathlib import Path

from ccn.errors import ConfigurationError
from ccn.learning import model_file
from ccn.runs import answers, formats
from ccn.runs.formats import Format
from ccn.runs.predict import Done, Options, Tell, answer_file, unique
from ccn.runs.workers import Job

__all__ = ["embed_file"]


def embed_file(
    model: str | Path,
    source: str,
    output: str | Path,
    options: Options = Options(),
    *,
    resume: bool = False,
    overwrite: bool = False,
    tell: Tell = lambda rows: None,
) -> tuple[Done, int]:
    """Write the embedding of every row; what was done, and how many numbers a row has.

    The arguments are those of :func:`ccn.runs.predict.predict_file`; the output is .csv, .tsv, .parquet or .npy.
    """
    path = model_file.model_path(model)
    loaded = model_file.load(path)
    if not loaded.members:
        raise ConfigurationError(
            f"{model}: the method {loaded.about['method']} has no embedding; a network of ccn has one"
        )
    width = answers.width(loaded)

    def form(columns: tuple[str, ...]) -> Format:
        header = unique(columns, (*(f"e{i}" for i in range(width)), answers.REASON))
        suffix = ".csv" if str(output) == "-" else Path(output).suffix.lower()
        if suffix == ".parquet":
            return formats.parquet(header, width, Path(output))
        if suffix == ".npy":
            return formats.array(width)
        if suffix not in (".csv", ".tsv", ".txt"):
            raise ConfigurationError(f"{output}: embeddings are written as .parquet, .csv, .tsv or .npy; name it so")
        return formats.table(header, "\t" if suffix == ".tsv" else ",")

    job = Job(embedding=True)
    done = answer_file(path, loaded, source, output, job, form, options, resume=resume, overwrite=overwrite, tell=tell)
    return done, width

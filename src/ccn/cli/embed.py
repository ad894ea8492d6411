"""``ccn embed``: the invariant embedding of every molecule of a table."""

from __future__ import annotations

from ccn.cli.options import ModelPath, Rows, Stream

__all__ = ["embed"]


def embed(model: ModelPath, source: Rows, /, *, stream: Stream = Stream()) -> None:
    """Write the embedding of every molecule (the input of the network's head), as features for other methods.

    For example, `ccn embed run molecules.csv -o embeddings.parquet`.

    A .csv, .tsv or .parquet file keeps all columns and adds e0, e1, .. and reason; a .npy file has the embeddings
    alone, NaN for invalid rows. Resume an interrupted command with --resume.
    """
    from ccn.cli.show import report
    from ccn.runs.predict import embed_file

    with stream.progress() as options:
        done = embed_file(model, source, stream.output, options)
    report(done, stream, "an embedding", width=done.width)

"""``ccn embed``: the invariant embedding of every molecule of a table."""

from __future__ import annotations

from ccn.cli.options import ModelPath, More, Rows, Stream

__all__ = ["embed"]


def embed(model: ModelPath, source: Rows, /, *more: More, stream: Stream = Stream()) -> None:
    """Write the embedding of every molecule (the input of the network's head), as features for other methods.

    For example, `ccn embed run molecules.csv -o embeddings.parquet`, or `ccn embed run CCO c1ccccc1O`.

    A .csv, .tsv, .xlsx, .sdf or .parquet file keeps all columns and adds e0, e1, .. and reason; a .npy file has the
    embeddings alone, NaN for invalid rows. Resume an interrupted command with --resume.
    """
    from functools import partial

    from ccn.cli.show import answer
    from ccn.runs.predict import embed_file

    answer(partial(embed_file, model), (source, *more), stream, "an embedding")

"""``ccn predict``: a table with predictions added."""

from __future__ import annotations

from ccn.cli.options import ModelPath, More, Rows, Stream

__all__ = ["predict"]


def predict(
    model: ModelPath, source: Rows, /, *more: More, interval: float | None = None, stream: Stream = Stream()
) -> None:
    """Predict for every row of a table of molecules, of any length, in constant memory, or for SMILES.

    For example, `ccn predict run new.csv -o out.csv --interval 0.9`, `ccn predict run CCO c1ccccc1O`, or
    `cat new.csv | ccn predict run - > out.csv`.

    The output is .csv, .tsv, .xlsx or .sdf (.jsonl for graphs). All columns and the order of rows are kept.
    `<target>_pred` is added, with the probability of each class, or with `<target>_low` and `<target>_high` for
    --interval. Invalid rows have empty cells, and the column `reason` says why. Resume an interrupted command with
    --resume.

    Args:
        interval: Add prediction intervals with this coverage, for example 0.9.
    """
    from functools import partial

    from ccn.cli.show import answer
    from ccn.runs.predict import predict_file

    answer(partial(predict_file, model, interval=interval), (source, *more), stream, "a prediction")

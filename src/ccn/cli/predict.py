"""``ccn predict``: a table with predictions added."""

from __future__ import annotations

from ccn.cli.options import Flag, ModelPath, More, Rows, Stream

__all__ = ["predict"]


def predict(
    model: ModelPath,
    source: Rows,
    /,
    *more: More,
    interval: float | None = None,
    domain: Flag = False,
    neighbours: int | None = None,
    stream: Stream = Stream(),
) -> None:
    """Predict for every row of a table of molecules, of any length, in constant memory, or for SMILES.

    For example, `ccn predict run new.csv -o out.csv --interval 0.9`, `ccn predict run CCO c1ccccc1O`, or
    `cat new.csv | ccn predict run - > out.csv`.

    The output is .csv, .tsv, .xlsx or .sdf (.jsonl for graphs), or .html, a page of drawn molecules to sort and filter
    in a browser, which always has 90 % intervals, --domain and the nearest training molecule where the model has them
    (--neighbours 0 leaves that out). All columns and the order of rows are kept.
    `<target>_pred` is added, with the probability of each class, or with `<target>_low` and `<target>_high` for
    --interval. With --domain the column `domain` says in a word whether the model has seen anything like the row:
    `inside` what it has learned from, at its `edge`, or `outside`, where errors are larger than its metrics say
    (`ccn train` shows how much larger they were on rows that were not fitted). `distance` is 1 minus
    `nearest_similarity`, the share of parts in common with the nearest training molecule, `nearest_morgan` that of
    Morgan's substructures, and `unseen` names elements and parts that training never had.

    Invalid rows have empty cells, and the column `reason` says why. Resume an interrupted command with --resume.

    Args:
        interval: Add prediction intervals with this coverage, for example 0.9.
        domain: Add how far each row is from what the model has learned from.
        neighbours: Add this many nearest training molecules with their measured values, from training.csv.gz in the
            folder of the run, or from a model trained with --share-training.
    """
    from functools import partial

    from ccn.cli.show import answer
    from ccn.runs.predict import predict_file

    run = partial(predict_file, model, interval=interval, domain=domain, neighbours=neighbours)
    answer(run, (source, *more), stream, "a prediction")

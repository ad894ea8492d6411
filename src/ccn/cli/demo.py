"""``ccn demo``: training and prediction on built-in data, in about a minute."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated, Any

from ccn.cli.options import Output

__all__ = ["demo"]

_MOLECULES = {  # not in MUTAG
    "9-nitroanthracene": "O=[N+]([O-])c1c2ccccc2cc2ccccc12",
    "3-nitrophenanthrene": "O=[N+]([O-])c1ccc2ccc3ccccc3c2c1",
    "nitrobenzene": "O=[N+]([O-])c1ccccc1",
}


def demo(*, output: Annotated[Path, Output] = Path("ccn-demo"), epochs: int = 40, seed: int = 0) -> None:
    """Train on MUTAG, which ships with ccn: 188 nitro compounds, mutagenic or not; then predict for three new ones.

    For example, `ccn demo`, or `ccn demo --output demo --seed 1`. It does what `ccn train` and `ccn predict` do.

    Args:
        output: Folder for the run; an earlier run there is replaced.
        epochs: Passes over the training part.
        seed: Random seed of the split and the network.
    """
    from ccn.cli.show import say, table
    from ccn.files import write_atomically
    from ccn.reports.markup import csv_text
    from ccn.reports.report import write_report
    from ccn.runs.config import check_folder, resolve
    from ccn.runs.predict import Options, predict_file
    from ccn.runs.train import train_run
    from ccn.training.execution import Execution

    # Learning rate and batch size were chosen on the validation parts of three splits.
    settings: dict[str, dict[str, Any]] = {
        "training": {"epochs": epochs, "batch_size": 16},
        "optimiser": {"learning_rate": 1e-2},
        "splitting": {"fractions": (0.7, 0.1, 0.2)},
    }
    config = resolve("MUTAG", settings, method="ccn", seed=seed, threads=1)  # batches too small to be shared by threads
    check_folder(output, resume=False, overwrite=output.exists() and any(output.iterdir()))
    done = train_run(config, output, Execution(verbose=True), say(False))
    classes = [row["class"] for row in _rows(output / "predictions.csv")]
    new, predicted = output / "new.csv", output / "new_predictions.csv"
    write_atomically(new, csv_text(["name", "smiles"], _MOLECULES.items()).encode())
    predict_file(output, str(new), predicted, Options(processes=1, overwrite=True))
    accuracy = done.metrics["metrics"]["test"]["accuracy"]
    print(
        f"accuracy on {len(classes)} held-out molecules: {100 * accuracy:.1f} % ({round(accuracy * len(classes))} "
        f"right); always predicting mutagenic: {100 * classes.count('1') / len(classes):.1f} %"
    )
    rows = [[r["name"], r["smiles"], f"{100 * float(r['class_prob_1']):.0f} %"] for r in _rows(predicted)]
    table("Three new molecules", ["molecule", "SMILES", "mutagenic"], rows)
    print(f"model: {output / 'model.safetensors'}; more: ccn predict {output} FILE -o out.csv")
    print(f"report, to open in a browser: {write_report(output)}")


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))

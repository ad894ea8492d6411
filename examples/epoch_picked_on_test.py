"""How much picking the epoch on the test part gains: the same network at its last epoch and at its best one.

Trains ``ccn-2``, the paper's network with a first width of 8, on the ten splits of data sets, MUTAG by default, and
prints the test accuracy of the last epoch beside that of the epoch picked on the test part, which is **not** a valid
estimate::

    python examples/epoch_picked_on_test.py MUTAG PTC_MR
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from statistics import fmean

from ccn.datasets import load
from ccn.datasets.splits import Split, paper_splits
from ccn.learning.examples import Examples
from ccn.methods import make_method
from ccn.methods.method import fit


def main(names: Sequence[str] = ("MUTAG",), splits: int = 10, epochs: int = 100) -> list[tuple[float, float]]:
    """For each data set, the mean test accuracy of the last epoch and of the epoch that is best on each test part."""
    found = []
    for name in names:
        data = load(name)
        curves = []
        for number, part in enumerate(paper_splits(data.targets[:, 0], splits)):
            settings = {"channels": 8, "epochs": epochs}
            method = make_method("ccn-2", classification=True, seed=number, settings=settings)
            # The test part in place of the validation part: the history then has its accuracy after each epoch.
            _, outcome = fit(method, Examples.of_dataset(data, Split(part.train, part.test, part.validation)))
            curves.append([row["validation_accuracy"] for row in outcome.history[0]])
        found.append((fmean(c[-1] for c in curves), fmean(max(c) for c in curves)))
        print(f"{name}: last epoch {found[-1][0]:.4f}, best epoch on each test part {found[-1][1]:.4f}", flush=True)
    return found


if __name__ == "__main__":
    main(sys.argv[1:] or ("MUTAG",))

"""Records that nobody ran."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ccn.datasets.published import TARGETS
from ccn.paper.records import METRICS, Record, Status, append
from ccn.paper.tasks import TASKS


def record(dataset: str, method: str, split: int = 0, test: float | None = None, **more: Any) -> Record:
    status: Status = more.pop("status", "done")
    own: dict[str, Any] = {"metric": "accuracy", "validation": None, "seconds": 1.0, "seed": 0, "version": "0"}
    return Record(dataset=dataset, method=method, split=split, status=status, test=test, **own | more)


def accuracies(dataset: str, **of: list[float]) -> list[Record]:
    """One record per figure; names with _ for -."""
    return [record(dataset, m.replace("_", "-"), s, x) for m, xs in of.items() for s, x in enumerate(xs)]


def hcep(method: str, mae: float | None, split: int = 0, **config: Any) -> Record:
    details = {"targets": ["pce"], "mae": [mae], "rmse": [mae and 2 * mae], "scale": [2.5]}
    return record("HCEP", method, split, mae, metric="mae", config=config, details=details)


def qm9(method: str, scaled: float, other: Mapping[str, float] | None = None, **config: Any) -> Record:
    """Scaled errors that are one number for all targets but others; the scale of each target is its number + 1."""
    scale = [float(i + 1) for i in range(len(TARGETS))]
    mae = [(other or {}).get(t, scaled) * s for t, s in zip(TARGETS, scale, strict=True)]
    details = {"targets": list(TARGETS), "mae": mae, "rmse": [2 * e for e in mae], "scale": scale}
    return record("QM9", method, 0, scaled, metric="scaled mae", config=config, details=details)


def pairs(dataset: str, method: str, apart: int, count: int) -> Record:
    details = {"apart": apart, "pairs": count}
    return record(dataset, method, 0, float(apart), metric="pairs", details=details)


def task(dataset: str, method: str, split: int = 0, test: float = 0.5, **more: Any) -> Record:
    """A cell of admet or cliffs, on a day and with a processor time of its own."""
    day, seconds = more.pop("date", "2030-01-02"), more.pop("processor", 60.0)
    metric = METRICS[dataset]
    details = {"metrics": {metric: test, "cliff_rmse": test + 0.1}, "processor_seconds": seconds, "date": day}
    return record(dataset, method, split, test, metric=metric, details=details, **more)


def molecules(folder: Path, name: str, rows: int = 40) -> Path:
    """A task on molecules in a data folder: chains, whose lengths are the target, or say which class they have."""
    of = TASKS[name]
    path = folder / of.entry.file
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(of.columns)
        for i in range(rows):
            y = float(i % 10 > 4) if of.classification else i % 10 + 0.1 * (i // 10)
            smiles = "C" * (i % 10 + 1) + ("O", "N", "F", "Cl")[i // 10 % 4]
            lines.writerow([smiles, y, "test" if i % 4 == 3 else "train", *["1" if i % 8 == 3 else "0"] * of.cliffs])
    return path


def write(folder: Path, records: list[Record]) -> Path:
    for r in records:
        append(folder / "some" / f"{r.dataset}.jsonl", r)
    return folder

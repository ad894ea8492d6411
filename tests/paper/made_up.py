"""Records that nobody ran."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ccn.datasets.published import TARGETS
from ccn.paper.records import Record, Status, append


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


def write(folder: Path, records: list[Record]) -> Path:
    for r in records:
        append(folder / "some" / f"{r.dataset}.jsonl", r)
    return folder

"""The applicability domain of a run: error and coverage by distance, and the calibration of probabilities.

Everything is drawn from the plain data in ``metrics.json`` under ``trust`` (:meth:`ccn.learning.model.Model.trust`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from ccn.learning.metrics import LABELS
from ccn.learning.model import LEVEL
from ccn.learning.trust import WORDS
from ccn.reports.figures import COLOURS, MUTED, Picture, wrapped
from ccn.reports.summary import figure

__all__ = ["bands_rows", "reliability_text", "trust_pictures", "trust_text", "words_rows"]

_COLOURS = {"validation": COLOURS[0], "test": COLOURS[1]}
_CALLED = {"validation": "held out", "test": "test"}
_Z = 1.96  # deviations that a 95 % interval reaches
_FEW = 20  # rows whose mean error says too little
_LARGER = 1.1  # times the error: less than this is hardly more
_SHADES = {"inside": 0.07, "edge": 0.2, "outside": 0.38}


def words_rows(trust: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Head and rows of a table: for each word its distances and, of each part, rows, error and coverage."""
    ends = {
        "inside": f"to {trust['inside']:.2f}",
        "edge": f"to {trust['outside']:.2f}",
        "outside": "beyond",
    }
    parts = trust["parts"].values()
    rows = [[w, ends[w], *_cells(trust, [part["words"][w] for part in parts])] for w in WORDS]
    return ["", "distance", *_head(trust)], rows


def bands_rows(trust: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """The same by bands of distance."""
    rows = [
        [f"{low:.2f} to {high:.2f}", *_cells(trust, [part["bands"][b] for part in trust["parts"].values()])]
        for b, (low, high) in enumerate(pairwise(trust["bands"]))
    ]
    return ["distance", *_head(trust)], rows


def _covered(trust: Mapping[str, Any]) -> bool:
    return any("coverage" in band for part in trust["parts"].values() for band in part["bands"])


def _head(trust: Mapping[str, Any]) -> list[str]:
    name = LABELS.get(trust["error"], trust["error"])
    columns = ["rows", name, *["coverage"] * _covered(trust)]
    return [f"{_CALLED.get(part, part)} {column}" for part in trust["parts"] for column in columns]


def _cells(trust: Mapping[str, Any], parts: Sequence[Mapping[str, Any]]) -> list[str]:
    out = []
    for found in parts:
        out += [f"{found['rows']:,}", figure(found["error"])]
        if _covered(trust):
            out.append(f"{100 * found['coverage']:.0f} %" if found.get("coverage") is not None else "-")
    return out


def trust_text(trust: Mapping[str, Any]) -> str:
    """One sentence on what the distance says about errors, on the test part if it has enough rows."""
    name = LABELS.get(trust["error"], trust["error"])
    for part in [p for p in ("test", "validation") if p in trust["parts"]]:
        words = trust["parts"][part]["words"]
        inside, beyond = words["inside"], [words[w] for w in WORDS[1:] if words[w]["rows"]]
        rows = sum(found["rows"] for found in beyond)
        if min(inside["rows"], rows) < _FEW:
            continue
        error = sum(found["rows"] * found["error"] for found in beyond) / rows
        where = "the test part" if part == "test" else "rows that were not fitted"
        said = f"On {where} the {name} is {figure(inside['error'])} inside and {figure(error)} at the edge and outside"
        if error < _LARGER * inside["error"]:
            return f"{said}: on these data the distance hardly tells where errors are larger."
        return f"{said}, {error / inside['error']:.2g} times as large."
    return f"There are too few rows that were not fitted to tell how the {name} grows with distance."


def reliability_text(found: Mapping[str, Any]) -> str:
    """One sentence on the calibration of probabilities."""
    return (
        f"Probabilities differ from the observed shares by {100 * found['ece']:.1f} % on average (expected calibration "
        f"error, {found['rows']:,} values in {len(found['bins'])} bins); Brier score {figure(found['brier'])}."
    )


def trust_pictures(trust: Mapping[str, Any]) -> list[Picture]:
    """Error by distance and, where there are intervals, their coverage by distance; words are shades behind."""

    def error(figure: Any) -> None:
        panel = figure.add_subplot()
        _by_distance(panel, trust, "error")
        panel.set(ylabel=wrapped(LABELS.get(trust["error"], trust["error"])), title="error by distance")
        panel.set_ylim(bottom=0)
        figure.legend(loc="outside lower center", ncols=3)

    def coverage(figure: Any) -> None:
        panel = figure.add_subplot()
        _by_distance(panel, trust, "coverage")
        panel.axhline(LEVEL, color=MUTED, lw=1, ls="--", label="aim")
        panel.set(ylabel=f"targets in their {100 * LEVEL:.0f} % interval", title="coverage by distance", ylim=(0, 1.05))
        figure.legend(loc="outside lower center", ncols=3)

    made = [
        Picture(
            "error-by-distance",
            "error by distance from training",
            error,
            (4.6, 3.8),
            "Bands of distance with equally many rows; bars are 95 %.",
        )
    ]
    if _covered(trust):
        caption = "Bars are 95 % (Wilson); the shades are the words."
        made.append(Picture("coverage-by-distance", "coverage by distance", coverage, (4.6, 3.8), caption))
    return made


def _by_distance(panel: Any, trust: Mapping[str, Any], key: str) -> None:
    """A point for each band at the mean distance of its rows; words as shades behind."""
    drawn = []
    for name, part in trust["parts"].items():
        bands = [b for b in part["bands"] if b.get(key) is not None]
        if not bands:
            continue
        x, y = [b["distance"] for b in bands], [b[key] for b in bands]
        drawn += x
        spread: Any = [_Z * b.get("standard_error", 0.0) for b in bands]
        if key == "coverage":
            spread = _wilson(y, [b["rows"] for b in bands])
        label = f"{_CALLED.get(name, name)}, {sum(b['rows'] for b in bands):,} rows"
        panel.errorbar(x, y, yerr=spread, fmt="o-", ms=4, lw=1, color=_COLOURS.get(name, COLOURS[2]), label=label)
    low, high = min(drawn, default=0.0), max(drawn, default=1.0)
    room = 0.08 * (high - low) or 0.1
    edges = (low - room, trust["inside"], trust["outside"], high + room)
    for word, start, end in zip(WORDS, edges[:-1], edges[1:], strict=True):
        panel.axvspan(start, max(start, end), color=MUTED, alpha=_SHADES[word], zorder=0, lw=0, label=word)
    panel.set(xlabel="distance to the nearest training graph", xlim=edges[::3])


def _wilson(share: Sequence[float], rows: Sequence[int]) -> list[list[float]]:
    """How far below and above a share its 95 % interval reaches."""
    z, low, high = _Z, [], []
    for p, n in zip(share, rows, strict=True):
        middle, half = p + z**2 / (2 * n), z * (p * (1 - p) / n + z**2 / (4 * n**2)) ** 0.5
        low.append(max(0.0, p - (middle - half) / (1 + z**2 / n)))
        high.append(max(0.0, (middle + half) / (1 + z**2 / n) - p))
    return [low, high]

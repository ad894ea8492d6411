"""Where a molecule lies among those that a model has learned from, for pages: has it seen anything like it?

One plain word (inside, edge, outside), what training never had, the interval of the prediction and, where the training
molecules are at hand, the nearest of them with what was measured for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ccn.explain.neighbours import similarities
from ccn.graphs.pack import Pack
from ccn.learning.model import LEVEL, Model

__all__ = ["Place", "interval_text", "places", "short"]


@dataclass(frozen=True)
class Place:
    """Where one graph lies among the training graphs of a model.

    Attributes:
        word: ``inside``, ``edge`` or ``outside``.
        distance: to the nearest training graph, from 0 to 1.
        similarity: 1 less this: the share of parts in common with it, by the covariant kernel.
        morgan: the similarity with the same training molecule by Morgan fingerprints; None where it is not known.
        unseen: elements and parts that training never had; empty without any.
        nearest: the SMILES of this training molecule; empty where training molecules are not at hand, or have nothing
            in common.
        value: what was measured for it; empty where it is not known.
        interval: the ends of the prediction interval; None without.
    """

    word: str
    distance: float
    similarity: float
    morgan: float | None
    unseen: str
    nearest: str = ""
    value: str = ""
    interval: tuple[float, float] | None = None

    def lines(self) -> list[str]:
        """In words, a line each: the word, the interval, the nearest training molecule.

        Example:
            >>> Place("edge", 0.6, 0.4, 0.3, "element B", "CCO", "1.5", (0.5, 2.0)).lines()[0]
            'at the edge of the applicability domain (distance 0.60); never seen in training: element B'
        """
        where = {"inside": "inside", "edge": "at the edge of"}.get(self.word, "outside")
        first = f"{where} the applicability domain (distance {self.distance:.2f})"
        out = [f"{first}; never seen in training: {self.unseen}" if self.unseen else first]
        if self.interval is not None:
            out.append(interval_text(*self.interval))
        by = f"{self.similarity:.2f} by parts" + ("" if self.morgan is None else f", {self.morgan:.2f} by Morgan")
        if not self.similarity:
            out.append("no training molecule has a part in common with it")
        else:
            measured = f"; measured {short(self.value)}" if self.value else ""
            out.append(f"nearest training molecule: similarity {by}{measured}")
        return out


def interval_text(low: float, high: float) -> str:
    """The interval of a prediction in words.

    Example:
        >>> interval_text(0.5, 2.0)
        '90 % interval 0.5 to 2'
    """
    return f"{100 * LEVEL:.0f} % interval {low:.4g} to {high:.4g}"


def short(value: str) -> str:
    """A measured number with four digits; a class as it is.

    Example:
        >>> short("0.675777777"), short("active")
        ('0.6758', 'active')
    """
    try:
        return f"{float(value):.4g}"
    except ValueError:
        return value


def places(
    model: Model, graphs: Pack, smiles: Sequence[str] = (), target: int = 0, *, interval: bool = True
) -> list[Place]:
    """The place of each graph; none where the model cannot compare.

    Args:
        model: with ``measured`` where its training molecules are at hand.
        graphs: as :meth:`ccn.learning.inputs.Inputs.read` gives them.
        smiles: of the graphs, for the similarity by Morgan where the model does not read it.
        target: whose measured values and interval are shown.
        interval: show the interval too, where the model has any.
    """
    if model.domain is None or not len(graphs):
        return []
    found, known = model.domain.assess(graphs), model.measured
    ends = None
    if interval and model.calibrated():
        low, high = model.interval(model.predict(graphs), LEVEL)
        ends = [(float(a), float(b)) for a, b in zip(low[:, target], high[:, target], strict=True)]
    out = []
    for i in range(len(found)):
        row, near = int(found.rows[i, 0]), float(found.similarity[i, 0])
        morgan = None if found.morgan is None else float(found.morgan[i, 0])
        nearest = value = ""
        if known is not None and near > 0:
            nearest, value = (known.smiles[row] if known.smiles else ""), known.values[row][target]
        if morgan is None and nearest and i < len(smiles) and smiles[i]:
            morgan = float(similarities(smiles[i], [nearest])[0])
        of = None if ends is None or not all(abs(x) < float("inf") for x in ends[i]) else ends[i]
        word, distance, unseen = str(found.word[i]), float(found.distance[i]), found.unseen[i]
        out.append(Place(word, distance, near, morgan, unseen, nearest, value, of))
    return out

"""Substructures whose presence explains most of the variance of the predictions.

The data that flow: SMILES and predictions of the test rows -> which circular parts (Morgan, radius up to 2) each
molecule has, X (rows, parts) of zeros and ones -> ten columns chosen one after another, each the one that is most
correlated with what the columns before leave unexplained (orthogonal matching pursuit) -> the effects of these ten,
fitted together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logit

from ccn.chemistry.smiles import parses
from ccn.learning.task import Floats
from ccn.reports.page import Block, Section, paragraph, tiles
from ccn.reports.run import Run
from ccn.reports.sections.data import molecule

__all__ = ["Part", "informative", "substructures"]

_PARTS, _LEAST, _MOST_ROWS, _MOST_COLUMNS = 10, 5, 2_000, 2_000
_MOST_TARGETS = 3


@dataclass(frozen=True)
class Part:
    """A circular part: its effect on the prediction, how many molecules have it, and where it is in one of these."""

    effect: float
    count: int
    smiles: str
    atoms: tuple[int, ...]
    bonds: tuple[int, ...]


def substructures(run: Run) -> Section | None:
    """The ten most informative substructures of each of the first targets."""
    if not run.smiles or len(run.rows) < 4 * _LEAST:
        return None
    blocks: list[Block] = []
    for t, (name, values) in enumerate(_values(run)[:_MOST_TARGETS]):
        parts, share = informative(run.smiles, values)
        if not parts:
            continue
        unit = run.unit(t) if run.task.kind == "regression" else "log odds"
        said = f"{name}: these parts explain {100 * share:.0f} % of the variance of the predictions."
        made = [
            (
                molecule(p.smiles, atoms=p.atoms, bonds=p.bonds),
                [f"{p.effect:+.3g} {unit}".strip(), f"in {p.count:,} of {len(run.rows):,} molecules"],
            )
            for p in parts
        ]
        blocks += [paragraph(said), tiles(made)]
    if not blocks:
        return None
    first = (
        "Parts, marked in a molecule that has them, whose presence goes with higher or lower predictions, and by "
        "how much if the other parts are the same. They describe the model on these rows, not the cause of a property."
    )
    return Section("Informative substructures", [paragraph(first), *blocks])


def _values(run: Run) -> list[tuple[str, Floats]]:
    """What is explained: numbers, or log odds of the last of two classes, of each label or of each class."""
    if run.task.kind == "regression":
        return [(run.label(t), run.predicted[:, t]) for t in range(len(run.task.targets))]
    p = np.clip(run.predicted, 1e-3, 1 - 1e-3)
    if run.task.kind == "multilabel":
        return [(run.label(t), logit(p[:, t])) for t in range(len(run.task.targets))]
    if p.shape[1] == 2:
        return [(f"{run.label(0)}, {run.task.classes[1]}", logit(p[:, 1]))]
    return [(f"{run.label(0)}, {c}", logit(p[:, k])) for k, c in enumerate(run.task.classes)]


def informative(smiles: Sequence[str], values: Floats) -> tuple[list[Part], float]:
    """Up to ten parts in order of their effect, and the share of the variance of the values that they explain."""
    from rdkit import Chem, rdBase
    from rdkit.Chem import rdFingerprintGenerator
    from sklearn.linear_model import LinearRegression, OrthogonalMatchingPursuit

    rows = np.unique(np.linspace(0, len(smiles) - 1, min(_MOST_ROWS, len(smiles))).round().astype(int))
    rows = np.array([i for i in rows if parses(smiles[i]) and np.isfinite(values[i])], dtype=int)
    if len(rows) < 4 * _LEAST or np.ptp(values[rows]) == 0:
        return [], 0.0
    of = rdFingerprintGenerator.GetMorganGenerator(radius=2)
    has: dict[int, list[int]] = {}
    where: dict[int, tuple[int, int, int]] = {}
    for k, i in enumerate(rows.tolist()):
        extra = rdFingerprintGenerator.AdditionalOutput()
        extra.AllocateBitInfoMap()
        of.GetSparseCountFingerprint(Chem.MolFromSmiles(smiles[i]), additionalOutput=extra)
        for bit, places in extra.GetBitInfoMap().items():
            has.setdefault(bit, []).append(k)
            where.setdefault(bit, (i, *places[0]))
    # Parts of the same molecules are one column: the smallest stands for all.
    distinct: dict[tuple[int, ...], int] = {}
    for bit in sorted(has, key=lambda b: (where[b][2], b)):
        if _LEAST <= len(has[bit]) <= len(rows) - _LEAST:
            distinct.setdefault(tuple(has[bit]), bit)
    bits = sorted(distinct.values(), key=lambda b: (-min(len(has[b]), len(rows) - len(has[b])), b))[:_MOST_COLUMNS]
    if not bits:
        return [], 0.0
    x = np.zeros((len(rows), len(bits)))
    for j, bit in enumerate(bits):
        x[has[bit], j] = 1.0
    y = values[rows]
    scaled = (x - x.mean(axis=0)) / x.std(axis=0)
    chosen = np.flatnonzero(OrthogonalMatchingPursuit(n_nonzero_coefs=min(_PARTS, len(bits))).fit(scaled, y).coef_)
    fitted = LinearRegression().fit(x[:, chosen], y)
    made = []
    with rdBase.BlockLogs():
        for j, effect in zip(chosen.tolist(), fitted.coef_.tolist(), strict=True):
            i, centre, radius = where[bits[j]]
            atoms: dict[int, int] = {}  # to their distance
            bonds = Chem.FindAtomEnvironmentOfRadiusN(Chem.MolFromSmiles(smiles[i]), radius, centre, atomMap=atoms)
            made.append(Part(effect, len(has[bits[j]]), smiles[i], tuple(sorted({centre, *atoms})), tuple(bonds)))
    return sorted(made, key=lambda p: -p.effect), float(fitted.score(x[:, chosen], y))

"""Why a model predicts what it does: contributions of atoms and bonds that add up, drawn on the molecule.

Numbers come from :meth:`ccn.learning.model.Model.explain`. :mod:`ccn.explain.explanation` makes one
:class:`Explanation` for each molecule of them, :mod:`ccn.explain.drawing` draws it, :mod:`ccn.explain.writing` writes
many as a page, a table or an SDF file. :mod:`ccn.explain.network` shows what only covariant networks have: pairs,
receptive fields and contractions; :mod:`ccn.explain.neighbours` finds similar molecules with a different outcome, and
activity cliffs. Imports methods and everything above them.

>>> import ccn
>>> smiles = ["C" * n + end for n in range(1, 9) for end in ("O", "N")]
>>> model = ccn.CCNRegressor(method="gp").fit(smiles, [float(len(s)) for s in smiles])
>>> found = model.explain(["CCCO"])[0]
>>> bool(abs(found.baseline + found.atoms.sum() + sum(found.whole.values()) - found.prediction) < 1e-9)
True
"""

from __future__ import annotations

from ccn.explain.explanation import Explanation, explain

__all__ = ["Explanation", "explain"]

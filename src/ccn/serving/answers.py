"""From the plain data of a request to the plain data of its answer, by the functions of ``ccn predict`` and
``explain``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ccn.chemistry.depiction import depict
from ccn.chemistry.smiles import MAX_ATOMS, refusal, where_wrong
from ccn.errors import CCNError, ConfigurationError
from ccn.explain.drawing import arcs, draw, equation, legend, limit, placed
from ccn.explain.network import networks_of
from ccn.explain.writing import Card
from ccn.learning import model_file
from ccn.learning.model import Model
from ccn.runs.answers import Question
from ccn.runs.explain import Asked, explain_rows, terms
from ccn.runs.output import plain
from ccn.runs.predict import Options, predict_file
from ccn.runs.workers import Texts, ask

__all__ = ["Molecules", "describe", "explain", "job", "load", "nearest", "predict", "texts_of"]

Molecules = Sequence[Mapping[str, Any]]
"""Rows of a request: ``smiles``, and perhaps ``name`` and ``columns``."""
_DRAWN = (420, 300)
_PAIRED = 120  # atoms up to which all pairs are sent
_LEVELS = (0.99, 0.95, 0.9, 0.8, 0.5)
_TRIED = "CC(=O)Nc1ccc(O)cc1"  # so that all that is compiled once is compiled before the first request


def load(path: str | Path, *, training: bool = True) -> Model:
    """The model in a file; with ``training`` also the training rows beside it or in it, else without any."""
    model = model_file.load(path)
    if model.inputs.molecules is None or model.task.per != "graph":
        raise ConfigurationError(
            f"{path}: ccn serve answers for molecules as a whole; this model reads other graphs, or predicts for atoms "
            "or bonds; use ccn predict"
        )
    if not training:
        return replace(model, measured=None)
    return model_file.with_measured_at_hand(model, path)


def describe(model: Model) -> dict[str, Any]:
    """What a client may know of a model: what it predicts, from what, what can be asked of it, and its metrics."""
    task, about = model.task, model.about
    numbers = np.zeros((1, len(model.inputs.columns)), dtype=np.float32) if model.inputs.columns else None
    ask(Question(), model, ([_TRIED], numbers))
    try:
        explain_rows(model, [_TRIED], [_TRIED], numbers, Asked())
        explained = True
    except CCNError:
        explained = False
    nets = [net for net, _, _ in networks_of(model)]
    units = list(about.get("units") or [])
    return {
        "method": model.method,
        "kind": task.kind,
        "targets": list(task.targets),
        "units": units if len(units) == len(task.targets) else [""] * len(task.targets),
        "classes": [str(c) for c in task.classes],
        "columns": list(model.inputs.columns),
        "intervals": _widest(model),
        "domain": model.domain is not None,
        "nearest": model.domain is not None and model.measured is not None and bool(model.measured.smiles),
        "explains": explained,
        "pairs": explained and any(order >= 2 for net in nets for order in net.orders),
        "fields": explained and bool(nets),
        "metrics": {part: dict(values) for part, values in (about.get("metrics") or {}).items()},
        "rows": {str(part): int(count) for part, count in (about.get("graphs") or {}).items()},
    }


def _widest(model: Model) -> float:
    """The largest of some coverages that its intervals can have; 0 without any."""
    if model.calibration is None:
        return 0.0
    few = (level for level in _LEVELS if not model.calibration.shortage(level, model.task.targets)[0])
    return next(few, 0.0)


def texts_of(model: Model, molecules: Molecules, atoms: int = MAX_ATOMS) -> tuple[Texts, dict[int, str]]:
    """The SMILES of some rows with (rows, columns) what the model reads beside them, and which rows are too large.

    A row without a number in a column has NaN there; a text that is too large is empty.
    """
    names, smiles = model.inputs.columns, [str(row["smiles"]).strip() for row in molecules]
    refused = {i: why for i, text in enumerate(smiles) if (why := refusal(text, atoms)).startswith("too large")}
    smiles = ["" if i in refused else text for i, text in enumerate(smiles)]
    if not names:
        return (smiles, None), refused
    values = [[row.get("columns", {}).get(name) for name in names] for row in molecules]
    numbers = np.array([[np.nan if v is None else v for v in row] for row in values], dtype=np.float64)
    with np.errstate(over="ignore"):
        numbers = numbers.astype(np.float32)
    return (smiles, np.where(np.isfinite(numbers), numbers, np.nan).astype(np.float32)), refused


def _rows(model: Model, question: Question, molecules: Molecules, atoms: int) -> list[dict[str, Any]]:
    """For each molecule its values by the names of columns, and why it has none and where that is."""
    question.check(model)
    texts, refused = texts_of(model, molecules, atoms)
    values, reasons = ask(question, model, texts)
    names, out = question.names(model)[:-1], []
    for i, (row, cells, reason) in enumerate(zip(molecules, values, reasons, strict=True)):
        one = _row(row, refused.get(i) or reason)
        one["values"] = None if reason else dict(zip(names, map(plain, cells), strict=True))
        out.append(one)
    return out


def _row(row: Mapping[str, Any], why: str | None) -> dict[str, Any]:
    where = where_wrong(str(row["smiles"])) if why else None
    return {"smiles": row["smiles"], "name": row.get("name", ""), "reason": why or None, "where": where}


def predict(
    model: Model,
    molecules: Molecules,
    *,
    interval: float | None = None,
    domain: bool = False,
    drawings: bool = False,
    atoms: int = MAX_ATOMS,
) -> list[dict[str, Any]]:
    """Predictions: for each molecule a dictionary with ``values``, or with the ``reason`` why there are none.

    Example:
        >>> import ccn
        >>> fit = ccn.CCNRegressor(method="gp").fit(["CO", "CCO", "CCCO", "CN", "CCN"], [1.0, 2, 3, 1, 2])
        >>> good, bad = predict(fit.model_, [{"smiles": "CCCN"}, {"smiles": "CC("}])
        >>> list(good["values"]), bad["where"]
        (['y_pred'], (2, 3))
    """
    made = _rows(model, Question(interval, domain=domain and model.domain is not None), molecules, atoms)
    if drawings:
        for row in made:
            row["drawing"] = None if row["reason"] else depict(row["smiles"].strip(), *_DRAWN) or None
    return made


def nearest(
    model: Model, molecules: Molecules, *, count: int = 3, drawings: bool = False, atoms: int = MAX_ATOMS
) -> list[dict[str, Any]]:
    """For each molecule the nearest training molecules, nearest first, with their similarities and measured values."""
    known = model.measured
    if known is None or model.domain is None:
        raise ConfigurationError("the training molecules of this model are not at hand; serve the folder of its run")
    question = Question(domain=True, neighbours=count, measured=known)
    made = _rows(model, question, molecules, atoms)
    for row in made:
        values, near = row.pop("values") or {}, []
        for i in range(1, count + 1):
            at = f"neighbour_{i}"
            if values.get(at) is None:
                continue
            one = {
                "smiles": str(values[at]),
                "name": str(values.get(f"{at}_id") or ""),
                "similarity": values[f"{at}_similarity"],
                "morgan": values.get(f"{at}_morgan"),
                "measured": {target: values[f"{at}_{target}"] for target in known.targets},
            }
            if drawings:
                one["drawing"] = depict(one["smiles"], 260, 180) or None
            near.append(one)
        row["nearest"] = near
        row["domain"] = {key: values.get(key) for key in ("domain", "distance", "nearest_similarity", "unseen")}
    return made


def explain(
    model: Model, molecules: Molecules, *, drawings: bool = False, atoms: int = MAX_ATOMS, **asked: Any
) -> list[dict[str, Any]]:
    """Explanations: for each molecule the terms of the sum, as ``ccn explain --json`` has them, and where to see them.

    With ``drawings`` each has SVG documents, the places of its atoms in the first one, and a legend.
    """
    (smiles, numbers), refused = texts_of(model, molecules, atoms)
    found = explain_rows(model, [row.get("name", "") for row in molecules], smiles, numbers, Asked(**asked))
    faults, cards = {**dict(found.faults), **refused}, iter(found.cards)
    return [
        {**_row(row, faults.get(i)), **({} if i in faults else _explained(next(cards), drawings))}
        for i, row in enumerate(molecules)
    ]


def _explained(card: Card, drawings: bool) -> dict[str, Any]:
    e = card.explanation
    made = {**terms(e), "symbols": e.symbols, "equation": equation(e)}
    made["pairs"] = None if e.pairs is None or len(e.atoms) > _PAIRED else (e.pairs + e.pairs.T).tolist()
    made["fields"] = [[list(level) for level in fields] for fields in card.fields] or None
    made["others"] = [
        {"smiles": o.smiles, "value": o.value, "similarity": o.similarity, "common": o.common} for o in card.others
    ]
    if drawings:
        width, height = _DRAWN
        svg, places = placed(e, width, height)
        made["drawing"] = _document(svg)
        made["places"] = np.round(places, 1).tolist()
        made["full"] = draw(e)
        made["legend"] = _document(
            f"<svg width='244' height='48' viewBox='-12 -3 244 48'>{legend(limit(e), e.scale)}</svg>"
        )
        made["arcs"] = None if e.pairs is None else _document(arcs(e, width, height))
    return made


def _document(svg: str) -> str:
    """An SVG element as a document of its own."""
    return svg.replace("<svg ", "<svg xmlns='http://www.w3.org/2000/svg' ", 1)


def job(
    model: str | Path,
    source: str,
    output: str,
    *,
    tell: Callable[[int], None],
    smiles_column: str | None = None,
    interval: float | None = None,
    domain: bool = False,
    spreadsheet_safe: bool = True,
    resume: bool = False,
) -> dict[str, Any]:
    """A table answered as ``ccn predict`` does; ``tell`` is called with the rows done."""
    options = Options(
        smiles_column=smiles_column,
        processes=1,
        chunk=200,
        resume=resume,
        overwrite=not resume,
        spreadsheet_safe=spreadsheet_safe,
        tell=tell,
    )
    done = predict_file(model, source, output, options, interval=interval, domain=domain)
    return {"rows": done.rows, "without": done.without, "seconds": done.seconds}

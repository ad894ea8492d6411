"""Explanations of the molecules of a table, or of graphs, written to a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ccn.engine.cpu.compiling import when_compiling
from ccn.errors import ConfigurationError, DataError
from ccn.explain.drawing import molecule
from ccn.explain.explanation import Explanation, explain_graphs, molecule_of, output_of
from ccn.explain.neighbours import Other, counterfactuals
from ccn.explain.network import contraction_shares, every_field, receptive_fields
from ccn.explain.place import places
from ccn.explain.writing import Card, Extra, write
from ccn.graphs.pack import Pack
from ccn.learning import model_file
from ccn.learning.model import Model
from ccn.progress import log
from ccn.runs.predict import Source, opened
from ccn.training.execution import torch_device

__all__ = ["Asked", "Explained", "explain_rows", "explain_source", "terms"]

_NEIGHBOURS = 2  # of a molecule on a page
_FEW = 20  # molecules up to which a page has them
_LISTED = 8  # contractions
_FIELD = (0.70, 0.85, 0.95)
_AROUND = (0.99, 0.78, 0.42)


@dataclass(frozen=True)
class Asked:
    """What is asked of a model.

    Attributes:
        target, label: the name of the target, and of the class where there are more than two.
        pairs: contributions of pairs of atoms, of networks of order 2.
        atom: an atom of which the receptive field is shown.
        contractions: show the contractions that carry most.
        fields: the receptive fields of all atoms.
        neighbours: similar training molecules with a different outcome; by default two where there are few molecules.
    """

    target: str | None = None
    label: str | None = None
    pairs: bool = False
    atom: int | None = None
    contractions: bool = False
    neighbours: int | None = None
    fields: bool = False


@dataclass(frozen=True)
class Explained:
    """Explanations with the names of their molecules, and rows without, each with its reason."""

    cards: list[Card]
    faults: list[tuple[int, str]]


def terms(e: Explanation) -> dict[str, Any]:
    """The terms of an explanation as plain data; ``ends`` are the atoms of each bond."""
    names = ("target", "scale", "value", "prediction", "baseline", "residual", "whole")
    arrays = {"atoms": e.atoms.tolist(), "bonds": e.bonds.tolist(), "ends": e.ends.tolist()}
    return {**{name: getattr(e, name) for name in names}, **arrays}


def explain_source(
    model_at: str | Path,
    source: Source,
    output: Path | None = None,
    asked: Asked = Asked(),
    *,
    smiles_column: str | None = None,
    sheet: str | None = None,
    device: str = "cpu",
    say: Callable[[str], None] = log,
) -> Explained:
    """Explain the prediction of every molecule of a table, or of graphs; write them if there is an ``output``.

    Args:
        model_at: a model file or the folder of a run.
        source: a table of molecules, JSON lines for a model of graphs, ``-`` for standard input, or SMILES.
        output: an .html, .svg, .csv, .tsv or .sdf file.
        asked: what to explain.
        smiles_column, sheet: of the table.
        device: ``cpu``, ``cuda``, ..
        say: told what takes time.
    """
    model = model_file.load(model_at)
    output_of(model.task, asked.target, asked.label)  # an error before anything is read
    model = model_file.with_measured_at_hand(model, model_at)
    model.to(torch_device(device))
    with when_compiling(lambda: say("compiling kernels (once)")):
        names, texts, numbers, unread = _rows(model, source, smiles_column, sheet)
        page = output is not None and output.suffix.lower() == ".html"
        found = explain_rows(model, names, texts, numbers, asked, page=page)
    faults, cards = [(i, unread.get(i, why)) for i, why in found.faults], found.cards
    if not cards:
        raise DataError(f"there is nothing to explain; the first row: {faults[0][1] if faults else 'there is none'}")
    if output is not None:
        write(cards, output, f"Why {cards[0].explanation.target.partition(' = ')[0]}?", _about(model, cards))
    return Explained(cards, faults)


def explain_rows(
    model: Model, names: Sequence[str], texts: Sequence[str], numbers: Any, asked: Asked, *, page: bool = False
) -> Explained:
    """Explain the prediction of every row: SMILES, or graphs as JSON.

    Args:
        model: on its device.
        names, texts: of the rows.
        numbers: (rows, columns) what the model reads beside the molecule, or None.
        asked: what to explain.
        page: the rows will be shown on a page, which has neighbours where there are few.
    """
    graphs, good, bad = model.inputs.parse(texts, columns=numbers)
    if graphs is None:
        return Explained([], bad)
    how = {"target": asked.target, "label": asked.label, "pairs": asked.pairs}
    smiles = [texts[i] if model.inputs.molecules is not None else "" for i in good]
    mols = [molecule_of(model.inputs, text) for text in smiles]
    found = explain_graphs(model, graphs, smiles, mols, **how)  # type: ignore[arg-type]
    cards = [Card(names[i], e) for i, e in zip(good, found, strict=True)]
    cards = _with_neighbours(model, cards, asked, page=page)
    if page:
        cards = _with_places(model, graphs, cards, smiles=[texts[i] for i in good], target=asked.target)
    for i, card in enumerate(cards):
        graph = graphs.select([i])
        fields = every_field(model, graph) if asked.fields else []
        cards[i] = replace(card, extras=_extras(model, graph, card, asked), fields=fields)
    return Explained(cards, bad)


def _rows(
    model: Model, source: Source, smiles_column: str | None, sheet: str | None
) -> tuple[list[str], list[str], Any, dict[int, str]]:
    """Names and texts of all rows, the numbers that the model reads beside, and faults of the table by row."""
    with opened(source, model, smiles_column=smiles_column, sheet=sheet) as read:
        rows = [row for chunk in read.table.chunks() for row in chunk]
    texts, numbers = read.texts(rows)
    molecules = model.inputs.molecules is not None
    names = [
        (row.cells[read.id] if read.id is not None and not row.fault else "") or (text if molecules else f"graph {i}")
        for i, (row, text) in enumerate(zip(rows, texts, strict=True))
    ]
    return names, list(texts), numbers, {i: row.fault for i, row in enumerate(rows) if row.fault}


def _with_neighbours(model: Model, cards: list[Card], asked: Asked, page: bool) -> list[Card]:
    count = asked.neighbours
    if count is not None and count < 0:
        raise ConfigurationError(f"--neighbours {count}: give how many to show, 0 or more")
    known = model.measured
    if count and (known is None or not known.smiles):
        raise ConfigurationError(
            "--neighbours: the training molecules are not at hand; give the folder of the run, or train with "
            "--share-training"
        )
    if count is None:
        count = _NEIGHBOURS if page and len(cards) <= _FEW else 0
    if not count or known is None or not known.smiles:
        return cards
    return [replace(card, others=_others(model, card.explanation, count)) for card in cards]


def _with_places(
    model: Model, graphs: Pack, cards: list[Card], *, smiles: Sequence[str], target: str | None
) -> list[Card]:
    number = 0 if target is None else model.task.targets.index(target)
    found = places(model, graphs, smiles if model.inputs.molecules is not None else (), number)
    return [replace(card, place=place) for card, place in zip(cards, found, strict=True)] if found else cards


def _others(model: Model, e: Explanation, count: int) -> list[Other]:
    known, task = model.measured, model.task
    assert known is not None
    named = e.target.partition(" = ")[0] if task.kind != "regression" else e.target
    column = known.targets.index(named)
    values = [row[column] for row in known.values]
    if task.kind == "regression":
        numbers = [float(v) for v in values if v]
        return counterfactuals(e.smiles, known.smiles, values, e.value, apart=float(np.std(numbers)), most=count)
    label = e.target.rpartition(" = ")[2]
    other = str(task.classes[0]) if task.kind != "multiclass" else ""
    answer = label if e.value > 0.5 or task.kind == "multiclass" else other
    return counterfactuals(e.smiles, known.smiles, values, answer, most=count)


def _extras(model: Model, graph: Any, card: Card, asked: Asked) -> list[Extra]:
    """What networks show besides: the receptive field of an atom, the contractions that carry most."""
    e, out = card.explanation, []
    if asked.atom is not None:
        fields = receptive_fields(model, graph, asked.atom)
        drawn = [
            molecule(e.mol, 250, 190, {**dict.fromkeys(field, _FIELD), asked.atom: _AROUND}, {})[0] if e.mol else ""
            for field in fields
        ]
        captions = [f"level {level}: {len(field)} atom{'s' * (len(field) != 1)}" for level, field in enumerate(fields)]
        title = f"Receptive field of atom {asked.atom} ({e.symbols[asked.atom]})"
        out.append(Extra(title, list(zip(drawn, captions, strict=True)), rows=[[str(f)] for f in fields]))
    if asked.contractions:
        chosen = output_of(model.task, asked.target, asked.label)
        shares = contraction_shares(model, graph, 0 if chosen is None else chosen.number)
        rows = [[f"level {s.level}", s.contraction, s.source, f"{100 * s.share:.0f} %"] for s in shares[:_LISTED]]
        out.append(Extra("Contractions that carry most of their level", (), ("level", "einsum", "of", "share"), rows))
    return out


def _about(model: Model, cards: Sequence[Card]) -> list[str]:
    """What the numbers of a page mean."""
    scale = (
        f"Contributions are in {cards[0].explanation.scale}. Those of atoms, bonds and the whole molecule add up to "
        "the prediction less the baseline; orange raises it, blue lowers it."
    )
    convention = (
        "Convention: a part that similar training molecules share counts for its atoms in equal shares; networks are "
        "explained by integrated gradients from a graph without features of atoms and bonds, trees by Shapley values. "
        "Descriptors belong to the molecule as a whole and are shown as bars."
    )
    method = f"Method {model.method}. A contribution says what the model uses, not what causes the property."
    return [scale, convention, method]

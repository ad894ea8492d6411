"""Flags from frozen dataclasses: one group of flags per concern, every field a flag that is off unless given.

The settings themselves are the dataclasses of :mod:`ccn.training.recipe` and :mod:`ccn.runs.config`; here are
only their help and the way from words to values.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, make_dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from cyclopts import Group, Parameter

from ccn.runs.config import OWN
from ccn.training.recipe import SECTIONS

__all__ = ["Flag", "given"]

Flag = Annotated[bool, Parameter(negative="")]

HELP = {
    "target_columns": "Column to learn; give it again for more.",
    "smiles_column": "Column of SMILES; by default found.",
    "weight_column": "Column of weights of the rows.",
    "group_column": "Column of groups; rows of one group stay in one part.",
    "split_column": "Column that says train, val or test.",
    "id_column": "Column of names, kept in predictions.csv.",
    "task": "By default found: words and a few whole numbers are classes.",
    "class_weight": "Weigh rare classes up.",
    "strict": "Stop at the first bad row instead of leaving it out.",
    "split": "How rows are dealt; by default by the split column, stratified for classes, else random.",
    "fractions": "Shares of train, validation and test: 0.8,0.1,0.1.",
    "splits_file": "Splits as a run has saved them (splits.json).",
    "duplicates": "Keep rows of one molecule in one part, or ignore that they are one.",
    "device": "cpu, cuda, mps or auto.",
    "devices": "Processes of each machine.",
    "nodes": "Machines.",
    "strategy": "How processes work together: auto or ddp.",
    "precision": "32-true, 64-true, bf16-mixed or 16-mixed.",
    "molecules": "Properties of atoms and bonds: compact, atoms or element.",
    "hydrogens": "Make hydrogens vertices.",
    "vertices": "What is made of the features: auto, given, histograms, labels, degree or constant.",
    "order": "Order of the tensors; one number, or one per level: 2,2,1.",
    "levels": "Levels of the network.",
    "channels": "Channels; one number, or one per level.",
    "growth": "Each level has this many times the channels of the one below.",
    "contractions": "distinct, all, paper10 or complete.",
    "adjacency": "Multiply by the adjacency matrix: true, false or both.",
    "own": "Add the vertex's own activation.",
    "edge_features": "Bond features stand beside the adjacency matrix.",
    "nonlinearity": "Of the activations.",
    "norm": "Normalisation of the activations: batch, layer or none.",
    "dropout": "Share of activations dropped in training.",
    "hidden": "Width of the last layers; one number, or one per layer.",
    "head_norm": "Normalisation in the last layers: batch, layer or none.",
    "head_dropout": "Share of the last layers' units dropped in training.",
    "scheme": "Composition scheme; only in a configuration file.",
    "max_part": "Largest part that may still grow.",
    "method": "Optimiser.",
    "learning_rate": "Its largest rate.",
    "final_rate": "The rate at the end.",
    "schedule": "How the rate falls.",
    "warmup": "Share of the steps in which the rate grows.",
    "momentum": "Of sgd.",
    "weight_decay": "Pull of the weights towards zero.",
    "scaled": "Weights move in proportion to their initial size.",
    "clip": "Largest norm of the gradient.",
    "epochs": "Passes over the training part.",
    "least_steps": "A small data set has more epochs, for at least so many steps.",
    "batch_size": "Molecules of a step.",
    "loss": "Of numbers.",
    "patience": "Epochs without progress after which training stops; none never stops.",
    "keep": "Which epoch's weights are kept: the best on the validation part, or the last.",
    "monitor": "What is watched on the validation part: loss, mae, rmse, r2, accuracy, roc_auc, pr_auc or mcc.",
    "members": "Networks of the ensemble.",
}
_NAMES = {
    "target_columns": ("--target", "--target-columns"),
    "smiles_column": ("--smiles-column", "--smiles-columns"),
    "split_column": ("--split-column", "--splits-column"),
    "molecules": ("--features", "--molecules"),
    "method": ("--optimiser",),
}
_TITLES = {"data": "Columns", "splitting": "Splits", "machine": "Machine", "optimiser": "Optimiser"}
_ONLY_IN_FILES = ("scheme",)
# Fields of several forms, whose words are read as numbers, lists and truth values.
_FORMS = ("fractions", "vertices", "order", "channels", "contractions", "adjacency", "nonlinearity", "hidden")


def _flag(kind: Any) -> Any:
    """The type of the flag of a field; ``none`` is a choice where it may be off."""
    members = get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)
    plain = [m for m in members if m is not type(None)]
    out: Any = plain[0]
    return out if len(plain) == len(members) or out is str else out | Literal["none"]


def _group(section: str, kind: type) -> type:
    """A dataclass of flags, all of them off, for one section of the configuration."""
    title = Group(_TITLES.get(section, section.capitalize()), sort_key=10 + [*OWN, *SECTIONS].index(section))
    hints = get_type_hints(kind)
    made = []
    for f in fields(kind):
        if f.name in _ONLY_IN_FILES:
            continue
        listed = f.name == "target_columns"
        how = Parameter(name=_NAMES.get(f.name), help=HELP[f.name], group=title, negative="" if listed else None)
        of = list[str] if listed else str if f.name in _FORMS else _flag(hints[f.name])
        made.append((f.name, Annotated[of | None, how], None))
    out = make_dataclass(f"{kind.__name__}Flags", made, frozen=True, kw_only=True)
    out.__module__ = __name__  # else cyclopts takes it for a type of Python's own
    return out


DataFlags, SplittingFlags, MachineFlags = (_group(name, kind) for name, kind in OWN.items())
FeaturesFlags, NetworkFlags, OptimiserFlags, TrainingFlags = (_group(name, kind) for name, kind in SECTIONS.items())


def given(**sections: Any) -> dict[str, dict[str, Any]]:
    """What was given of each section, as values of the configuration."""
    return {
        name: {
            f.name: _value(v) if f.name in _FORMS else v
            for f in fields(flags)
            if (v := getattr(flags, f.name)) is not None
        }
        for name, flags in sections.items()
        if flags is not None
    }


def _value(value: str) -> Any:
    """Words as values: ``true``, ``2``, ``2,2,1``; other words stand for themselves."""
    if "," in value:
        return tuple(_value(v.strip()) for v in value.split(","))
    words: Mapping[str, Any] = {"true": True, "false": False}
    if value in words:
        return words[value]
    for number in (int, float):
        try:
            return number(value)
        except ValueError:
            continue
    return value

"""``ccn explain``: why a model predicts what it does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ccn.cli.options import Device, Flag, Json, ModelPath, More, Output, Quiet, Rows, Sheet, Smiles, Threads

if TYPE_CHECKING:
    from ccn.explain.writing import Card

__all__ = ["explain"]

_SHOWN = 6  # of the largest contributions


def explain(
    model: ModelPath,
    source: Rows,
    /,
    *more: More,
    output: Annotated[Path | None, Output] = None,
    target: str | None = None,
    label: Annotated[str | None, Parameter(name=("--class",))] = None,
    neighbours: int | None = None,
    pairs: Flag = False,
    atom: int | None = None,
    contractions: Flag = False,
    smiles_column: Smiles = None,
    sheet: Sheet = None,
    threads: Threads = None,
    device: Device = "cpu",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Show what each atom and bond contributes to a prediction: numbers that add up, drawn on the molecule.

    For example, `ccn explain run 'CC(=O)Nc1ccc(O)cc1' -o why.svg`, or `ccn explain run new.csv -o why.html`.

    The contributions of atoms, bonds and features of the molecule as a whole add up to the prediction less a baseline,
    which is shown: on the scale that was fitted for numbers, in log odds for classes. An .html file has a drawing of
    every molecule, with similar training molecules with a different outcome; .svg has the drawings alone; .csv and .tsv
    have a line for each term, .sdf the contributions as properties of atoms.

    Args:
        output: File to write: .html, .svg, .csv, .tsv or .sdf; without it the largest contributions are printed.
        target: Target to explain, by its name; by default the first.
        label: Class to explain, of more than two; by default the one that is predicted.
        neighbours: Similar training molecules with a different outcome to show; by default 2 for up to 20 molecules.
        pairs: Also what two atoms contribute together, for models with networks of order 2.
        atom: Number of an atom, from 0, whose receptive field at each level of the network is shown.
        contractions: Show which contractions of the networks carry most.
    """
    from ccn.cli.show import print_json, say
    from ccn.runs.explain import Asked, explain_source
    from ccn.runs.predict import source_of
    from ccn.training.execution import torch_threads

    asked = Asked(target, label, pairs, atom, contractions, neighbours)
    tell = say(quiet or json)
    rows = source_of((source, *more))
    how: dict[str, Any] = {"smiles_column": smiles_column, "sheet": sheet, "device": device, "say": tell}
    with torch_threads(threads):
        found = explain_source(model, rows, output, asked, **how)
    for i, why in found.faults:
        tell(f"row {i + 1}: {why}")
    if json:
        print_json([_plain(card) for card in found.cards])
    elif output is None:
        for card in found.cards:
            _show(card)
    else:
        if len(found.cards) == 1:
            tell(_sum(found.cards[0]))
        lacking = f", {len(found.faults):,} rows without" if found.faults else ""
        count = len(found.cards)
        tell(f"{count:,} explanation{'s' * (count != 1)}{lacking}; written to {output}")


def _sum(card: Card) -> str:
    """How the contributions add up, in one line."""
    from ccn.explain.drawing import equation

    e = card.explanation
    return f"{e.target}: {e.value:.4g}; in {e.scale}: {equation(e)}"


def _show(card: Card) -> None:
    from ccn.cli.show import printable, table
    from ccn.explain.drawing import number

    e = card.explanation
    print(printable(f"{card.name}\n{_sum(card)}"))
    items = [(f"atom {i} ({s})", x) for i, (s, x) in enumerate(zip(e.symbols, e.atoms.tolist(), strict=True))]
    for (u, v), x in zip(e.ends.tolist(), e.bonds.tolist(), strict=True):
        items.append((f"bond {u}-{v} ({e.symbols[u]}, {e.symbols[v]})", x))
    kinds = (items, list(e.whole.items()))
    for title, of in zip(("atoms and bonds", "whole molecule"), kinds, strict=True):
        largest = sorted(of, key=lambda item: -abs(item[1]))[:_SHOWN]
        if largest:
            table("", [f"largest, {title}", "contribution"], [[name, number(x)] for name, x in largest])
    for other in card.others:
        print(printable(f"similar ({other.similarity:.2f}) with a different outcome, {other.value}: {other.smiles}"))
    for extra in card.extras:
        head = extra.head or ("level", "atoms")
        rows = extra.rows if extra.head else [[str(i), row[0]] for i, row in enumerate(extra.rows)]
        table(extra.title, list(head), rows, set(head))


def _plain(card: Card) -> dict[str, Any]:
    from ccn.runs.explain import terms

    e = card.explanation
    made: dict[str, Any] = {"molecule": card.name, "smiles": e.smiles, **terms(e)}
    if e.pairs is not None:
        made["pairs"] = e.pairs.tolist()
    if card.others:
        made["neighbours"] = [vars(other) for other in card.others]
    if card.extras:
        made["more"] = [
            {"title": x.title, "head": list(x.head), "rows": [list(r) for r in x.rows]} for x in card.extras
        ]
    return made

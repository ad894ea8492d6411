"""One molecule, one output of a model, and what its atoms, bonds and molecule-level features contribute to it.

The data that flow: molecules -> the pack that the model reads, and RDKit's molecules in the same order of atoms ->
:meth:`Model.explain`, contributions as arrays -> columns that count substructures (Morgan) carried on to the atoms that
form them -> an :class:`Explanation` each, with names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccn.chemistry.fingerprints import morgan_parts
from ccn.chemistry.smiles import parse_smiles
from ccn.chemistry.standardise import standardised
from ccn.errors import ConfigurationError
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Int, starts
from ccn.learning.contributions import value_of
from ccn.learning.inputs import Inputs, as_list
from ccn.learning.model import Model
from ccn.learning.task import Floats, Task

__all__ = ["LACKING", "Explanation", "Output", "explain", "explain_graphs", "molecule_of", "output_of", "scale_of"]

LACKING = "absent substructures"
"""The name of the contribution of substructures of training molecules that a molecule lacks."""
_GROUPED = {"erg": "pharmacophore pairs (ErG)", "avalon": "paths and rings (Avalon)", "morgan": LACKING}


@dataclass(frozen=True, eq=False)
class Explanation:
    """What the atoms, bonds and molecule-level features of a molecule contribute to one output of a model.

    ``baseline + atoms.sum() + bonds.sum() + sum(whole.values()) + residual == prediction``, to rounding.

    Attributes:
        target: what is explained, such as ``logS`` or ``active = yes``.
        scale: in which units, in words.
        value: the prediction in the target's units, or the probability.
        prediction, baseline: on the scale.
        atoms: (atoms,) in the order of the molecule.
        bonds: (bonds,) and ``ends`` (bonds, 2), the atoms of each.
        whole: contributions of features of the molecule as a whole, by name, the largest first.
        residual: what is missing for the contributions to add up.
        smiles: as given; empty for a graph that is no molecule.
        mol: RDKit's molecule, whose atoms and bonds these are; None for a graph.
        pairs: (atoms, atoms) of pairs of atoms, where asked for and the model has networks of order 2.

    Example:
        >>> import ccn
        >>> smiles = ["C" * n + end for n in range(1, 9) for end in ("O", "N")]
        >>> model = ccn.CCNRegressor(method="gp").fit(smiles, [float(len(s)) for s in smiles])
        >>> found = model.explain(["CCCO"])[0]
        >>> found.symbols, found.atoms.shape, found.svg()[:4]
        (['C', 'C', 'C', 'O'], (4,), '<svg')
    """

    target: str
    scale: str
    value: float
    prediction: float
    baseline: float
    atoms: Floats
    bonds: Floats
    ends: Int
    whole: dict[str, float]
    residual: float
    smiles: str = ""
    mol: Any = field(default=None, repr=False)
    pairs: Floats | None = None

    @property
    def totals(self) -> dict[str, float]:
        """The sums over atoms, bonds and molecule-level features, and the residual."""
        return {
            "atoms": float(self.atoms.sum()),
            "bonds": float(self.bonds.sum()),
            "whole molecule": sum(self.whole.values()),
            "residual": self.residual,
        }

    @property
    def symbols(self) -> list[str]:
        """The elements of the atoms; numbers of vertices for a graph."""
        if self.mol is None:
            return [str(i) for i in range(len(self.atoms))]
        return [atom.GetSymbol() for atom in self.mol.GetAtoms()]

    def on_atoms(self) -> Floats:
        """(atoms,) with the contribution of each bond shared by its two ends."""
        out = self.atoms.copy()
        for end in self.ends.T:
            np.add.at(out, end, self.bonds / 2)
        return out

    def svg(self, width: int = 720) -> str:
        """The molecule with its atoms and bonds coloured, a legend, and bars for the molecule-level features."""
        from ccn.explain.drawing import draw

        return draw(self, width)

    def _repr_svg_(self) -> str:  # in a notebook
        return self.svg()


@dataclass(frozen=True)
class Output:
    """What is explained: the number of the output, what to call it, and the column of predictions that it is in."""

    number: int
    name: str
    column: int


def output_of(task: Task, target: str | None = None, label: str | None = None) -> Output | None:
    """The output by the name of the target and, where there are more than two classes, of the class.

    None if the class is to be the one that is predicted for each molecule.
    """
    if target is not None and target not in task.targets:
        raise ConfigurationError(f"target {target!r}: the model has {', '.join(map(repr, task.targets))}")
    number = 0 if target is None else task.targets.index(target)
    if task.kind != "multiclass":
        name = task.targets[number]
        if task.kind == "regression":
            if label is not None:
                raise ConfigurationError(f"class {label!r}: a number is explained; leave the class out")
            return Output(number, name, number)
        positive = str(task.classes[1])
        if label not in (None, positive):
            raise ConfigurationError(
                f"class {label!r}: the log odds of {positive!r} are explained; leave the class out"
            )
        return Output(number, f"{name} = {positive}", 1 if task.kind == "binary" else number)
    if label is None:
        return None
    names = [str(c) for c in task.classes]
    if label not in names:
        raise ConfigurationError(f"class {label!r}: the model knows {', '.join(map(repr, names))}")
    return Output(names.index(label), f"{task.targets[0]} = {label}", names.index(label))


def scale_of(task: Task, output: Output) -> str:
    """The scale of contributions, in words."""
    if task.kind == "multiclass":
        return "log probability"
    if task.kind != "regression":
        return "log odds"
    shape = "linear" if task.scale is None else task.scale.shapes[output.number]
    words = {"linear": "units of", "log": "natural log of", "power": "power scale of", "rank": "normal ranks of"}
    return f"{words.get(shape, f'{shape} scale of')} {output.name}"


def explain(
    model: Model,
    things: Any,
    *,
    target: str | None = None,
    label: str | None = None,
    pairs: bool = False,
    n_jobs: int | None = 1,
) -> list[Explanation]:
    """One explanation for each molecule or graph.

    Args:
        model: a trained model, :attr:`ccn.CCNRegressor.model_` of an estimator.
        things: SMILES, RDKit molecules, graphs, or a :class:`ccn.Pack`.
        target: which, by its name; by default the first.
        label: the class, of more than two; by default the one that is predicted for each molecule.
        pairs: also contributions of pairs of atoms; an error unless the model has networks of order 2.
        n_jobs: processes that read SMILES.

    Example:
        >>> import ccn
        >>> smiles = ["C" * n + end for n in range(1, 9) for end in ("O", "N")]
        >>> gp = ccn.CCNRegressor(method="gp").fit(smiles, [float(len(s)) for s in smiles])
        >>> [found.smiles for found in explain(gp.model_, ["CCCO", "CCN"])]
        ['CCCO', 'CCN']
    """
    rows = as_list(things)
    graphs = model.inputs.read(things, n_jobs)
    packed = isinstance(rows, Pack)
    texts = [""] * len(rows) if packed else [row if isinstance(row, str) else "" for row in rows]
    mols = [None] * len(rows) if packed else [molecule_of(model.inputs, row) for row in rows]
    return explain_graphs(model, graphs, texts, mols, target=target, label=label, pairs=pairs)


def molecule_of(inputs: Inputs, thing: Any) -> Any:
    """RDKit's molecule with the atoms of the graph that a model reads; None for a graph."""
    from rdkit import Chem

    if inputs.molecules is None or not (isinstance(thing, str) or hasattr(thing, "GetAtoms")):
        return None
    mol = parse_smiles(thing) if isinstance(thing, str) else thing
    if inputs.standardise is not None:
        mol = standardised(mol, inputs.standardise)
    return Chem.AddHs(mol) if inputs.hydrogens else mol


def explain_graphs(
    model: Model,
    graphs: Pack,
    smiles: Sequence[str],
    mols: Sequence[Any],
    *,
    target: str | None = None,
    label: str | None = None,
    pairs: bool = False,
) -> list[Explanation]:
    """The same for graphs that have been read, with their SMILES and molecules where they are known."""
    chosen = output_of(model.task, target, label)
    if chosen is not None:
        groups = [(chosen, np.arange(len(graphs)))]
    else:
        predicted, classes = model.predict(graphs).mean.argmax(axis=1), model.task.classes
        outputs = [Output(k, f"{model.task.targets[0]} = {classes[k]}", k) for k in np.unique(predicted).tolist()]
        groups = [(output, np.flatnonzero(predicted == output.number)) for output in outputs]
    explained: dict[int, Explanation] = {}
    for output, rows in groups:
        texts, molecules = ([held[i] for i in rows.tolist()] for held in (smiles, mols))
        found = _explained(model, graphs.select(rows), output, texts, molecules, pairs)
        explained |= zip(rows.tolist(), found, strict=True)
    return [explained[i] for i in range(len(graphs))]


def _explained(
    model: Model, graphs: Pack, output: Output, smiles: Sequence[str], mols: Sequence[Any], pairs: bool
) -> Iterator[Explanation]:
    """The explanations of one output."""
    made = model.explain(graphs, output.number)
    joint: Sequence[Floats | None] = [None] * len(graphs)
    if pairs:
        from ccn.explain.network import pair_contributions

        joint = pair_contributions(model, graphs, output.number)
    if model.task.kind == "multiclass":
        values = model.predict(graphs).mean[:, output.column]
    else:
        to_value = value_of(model.task, output.number)
        values = made.prediction if to_value is None else to_value(made.prediction)
    atoms = np.split(made.atoms.copy(), starts(made.atom_counts)[1:-1])
    bonds = np.split(made.bonds, starts(made.bond_counts)[1:-1])
    for i, mol in enumerate(mols):
        columns = made.whole[i].copy()
        if mol is not None:
            _carry_morgan(model, mol, columns, atoms[i])
        whole = _named(model, columns)
        if made.lacking[i]:
            whole[LACKING] = whole.get(LACKING, 0.0) + float(made.lacking[i])
        yield Explanation(
            target=output.name,
            scale=scale_of(model.task, output),
            value=float(values[i]),
            prediction=float(made.prediction[i]),
            baseline=float(made.baseline[i]),
            atoms=atoms[i],
            bonds=bonds[i],
            ends=np.asarray(graphs[i].edges, dtype=np.int64).reshape(-1, 2),
            whole=dict(sorted(whole.items(), key=lambda item: -abs(item[1]))),
            residual=float(made.residual[i]),
            smiles=smiles[i],
            mol=mol,
            pairs=joint[i],
        )


def _carry_morgan(model: Model, mol: Any, columns: Floats, atoms: Floats) -> None:
    """Move what columns of the Morgan fingerprint contribute to the atoms of the substructures that they count.

    Substructures of a column have equal shares, and so have the atoms of each. A column that counts none stays.
    """
    place = model.inputs.columns_of().get("morgan")
    if place is None or not columns[place].any():
        return
    from rdkit.Chem import RemoveHs

    for bit, parts in morgan_parts(RemoveHs(mol) if model.inputs.hydrogens else mol).items():
        for part in parts:
            atoms[part] += columns[place.start + bit] / len(parts) / len(part)
        columns[place.start + bit] = 0.0


def _named(model: Model, columns: NDArray[Any]) -> dict[str, float]:
    """Contributions of columns by name; those of a fingerprint whose columns have no names are summed."""
    names = model.inputs.graph_names or tuple(f"columns.feature {i}" for i in range(len(columns)))
    out: dict[str, float] = {}
    for at in np.flatnonzero(columns).tolist():
        kind, _, name = names[at].partition(".")
        name = _GROUPED.get(kind, name)
        out[name] = out.get(name, 0.0) + float(columns[at])
    return out

"""``ccn draw``: the composition scheme of a molecule or a graph."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from ccn.cli.options import Output

if TYPE_CHECKING:
    from ccn.schemes import Scheme

__all__ = ["draw"]

_MOST_LEVELS = 1000
_PAPER = "paper"
_SOURCE = "A SMILES, a table of molecules or graphs, a scheme as JSON, or paper: the paper's figures."


def draw(
    source: Annotated[str, Parameter(help=_SOURCE, allow_leading_hyphen=True)],
    /,
    *,
    levels: int = 2,
    scheme: Literal["neighbourhoods", "open", "field", "rings"] = "neighbourhoods",
    row: int = 1,
    atom: int | None = None,
    output: Annotated[Path, Output] = Path("scheme.svg"),
) -> None:
    """Draw the composition scheme of a molecule: its parts level by level on the graph, the DAG, and the root.

    For example, `ccn draw CC(=O)Oc1ccccc1C(=O)O --levels 2 -o aspirin.svg`, or `ccn draw scheme.json -o scheme.png`.

    The output is .svg, .png, or .json, the scheme itself: the number of atoms and, for each node of the DAG, its part,
    its children and the atom that stands for it. Such a file, also one of your own, is drawn as its DAG. The paper's
    figures are written to a folder: `ccn draw paper -o docs/figures`.

    Args:
        levels: Levels above the atoms.
        scheme: Parts are closed neighbourhoods (a vertex and its neighbours), open ones as in the paper, closed ones
            with a child for every vertex of the part, or rings.
        row: Row of a table that is drawn, from 1.
        atom: Atom around which parts are shown where a level has many, from 0; by default one in the middle.
    """
    from ccn.schemes import Scheme

    if source == _PAPER and not os.path.isfile(source):
        from ccn.paper.figures import draw_figures

        folder = output if output.suffix == "" else output.with_suffix("")
        print(f"written: {', '.join(map(str, draw_figures(folder)))}")
        return
    if Path(source).suffix.lower() == ".json" and os.path.isfile(source):
        made, how = Scheme.load(source), dict[str, Any]()
    else:
        made, how = _composed(source, levels, scheme, row)
    path = made.save(output) if output.suffix.lower() == ".json" else made.draw(output, atom=atom, **how)
    sizes = ", ".join(f"level {i} {len(level)}" for i, level in enumerate(made.levels))
    print(f"{made.atoms} atoms, {len(made.parts)} nodes ({sizes}, and the root); written to {path}")


def _composed(source: str, levels: int, kind: str, row: int) -> tuple[Scheme, dict[str, Any]]:
    """The scheme of a molecule or graph, and what its drawing shows: the graph, places and names of its vertices."""
    from ccn.chemistry.smiles import parse_smiles, parses
    from ccn.datasets import load
    from ccn.datasets.pictures import place_vertices
    from ccn.errors import ConfigurationError, DataError
    from ccn.graphs.graph import Graph
    from ccn.schemes import Clusters, Neighbourhoods, rings

    if not 0 <= levels <= _MOST_LEVELS:
        raise ConfigurationError(f"--levels {levels}: give 0 to {_MOST_LEVELS}")
    smiles: str | None = source
    if not os.path.isfile(source) and parses(source):
        graph = Graph.from_smiles(source)
    else:
        data = load(source)
        if not 1 <= row <= len(data):
            raise DataError(f"{source}: --row {row}, but it has the rows 1 to {len(data)}")
        graph, smiles = data.graphs[row - 1], None if data.smiles is None else data.smiles[row - 1]
    hops = Neighbourhoods(kind != "open", levels, field=kind == "field")
    made = Clusters(rings())(graph) if kind == "rings" else hops(graph)
    names = [str(i) for i in range(graph.n)]
    if smiles is not None and (mol := parse_smiles(smiles)).GetNumAtoms() == graph.n:
        names = [f"{a.GetSymbol()}{a.GetIdx()}" for a in mol.GetAtoms()]
    return made, {"names": names, "graph": graph, "places": place_vertices(graph, smiles)}

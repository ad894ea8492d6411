"""``ccn data``: which data sets there are, what is in one or in a file, and how to get one."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter

from ccn.cli.show import console, print_json

if TYPE_CHECKING:
    from rich.table import Table

    from ccn.datasets import Dataset
    from ccn.datasets.dataset import Statistics

__all__ = ["data"]

data = App(name="data", help="Data sets: list them, look into one or into a file, fetch one.")

Flag = Annotated[bool, Parameter(negative="")]


@data.command(name="list")
def list_(*, compute: Flag = False, markdown: Flag = False, json: Flag = False) -> None:
    """Show every data set that has a name: its size, origin, licence, and whether it is at hand.

    For example, `ccn data list`, or `ccn data list --markdown` for the table of the documentation.

    Parameters
    ----------
    compute: bool
        Compute the statistics of the data sets at hand from the data, instead of showing those written down.
    markdown: bool
        Print a table in Markdown.
    json: bool
        Print JSON for machines.

    """
    from ccn.datasets.registry import ENTRIES, find
    from ccn.datasets.statistics import compute as computed
    from ccn.datasets.statistics import known

    statistics = known() | (computed() if compute else {})
    rows = []
    for name, entry in ENTRIES.items():
        found = find(entry)
        s = statistics[name]
        rows.append(
            {
                "name": name,
                **asdict(s),
                "mean_vertices": round(s.mean_vertices, 2),
                "mean_edges": round(s.mean_edges, 2),
                "origin": entry.origin,
                "licence": entry.licence,
                "at_hand": None if found is None else found.place,
                "source": entry.url or (f"package {entry.package[0]}" if entry.package else None),
            }
        )
    if json:
        print_json(rows)
        return
    head = ("data set", "graphs", "classes or targets", "vertices", "edges", "origin", "licence")
    cells = [
        (
            row["name"],
            f"{row['graphs']:,}",
            _to_learn(statistics[row["name"]]),
            f"{row['mean_vertices']:.2f}",
            f"{row['mean_edges']:.2f}",
            row["origin"],
            row["licence"],
        )
        for row in rows
    ]
    if markdown:
        # Without "at hand", which is a matter of the machine.
        from ccn.reports.markup import markdown as as_markdown

        print(as_markdown(head, cells, "lrlrrll"))
        return
    from rich.text import Text

    table = _table("Data sets; vertices and edges are means", *head, "at hand", right={"graphs", "vertices", "edges"})
    for cell, row in zip(cells, rows, strict=True):
        hand = row["at_hand"] or ("no; can be fetched" if row["source"] else "no")
        table.add_row(*cell, hand if row["at_hand"] else Text(hand, style="dim"))
    console().print(table)


def _to_learn(s: Statistics) -> str:
    if s.classes:
        return ", ".join(f"{c}: {k:,}" for c, k in s.classes.items())
    count = len(s.targets)
    return s.targets[0] if count == 1 else f"{count} targets"


def _table(title: str, *columns: str, right: set[str] | frozenset[str] = frozenset()) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left")
    return table


@data.command
def get(name: str, /) -> None:
    """Fetch a data set into the cache, unless it is at hand.

    For example, `ccn data get NCI1`. What was fetched is checked against the hashes that ccn knows; a data set
    without a public source is an error that says which file to put where.

    Parameters
    ----------
    name: str
        A name that `ccn data list` shows.

    """
    from ccn.datasets.registry import ENTRIES, entry_of, fetch, find
    from ccn.errors import DataError

    entry = entry_of(name)
    if entry is None:
        raise DataError(f"{name}: no data set of this name; the names are {', '.join(ENTRIES)}")
    found = find(entry)
    if found is None:
        found = fetch(entry)
        print(f"{entry.name}: fetched and checked, {found.path}")
    else:
        print(f"{entry.name}: at hand in {found.place}, {found.path}")


@data.command
def info(
    source: str,
    /,
    *,
    smiles_column: str | None = None,
    target_columns: Annotated[list[str] | None, Parameter(consume_multiple=True, negative="")] = None,
    weight_column: str | None = None,
    group_column: str | None = None,
    split_column: str | None = None,
    id_column: str | None = None,
    task: Literal["classification", "regression"] | None = None,
    features: str | None = None,
    hydrogens: Annotated[bool | None, Parameter(negative="")] = None,
    energies: Literal["atomisation", "total"] | None = None,
    strict: Flag = False,
    graphs: int = 6,
    out: Path | None = None,
    json: Flag = False,
) -> None:
    """Show what is in a data set or a file, and a picture of a few of its graphs.

    Rows that cannot be used are left out; the last line says how many and why, and dropped.csv has one line for each.

    For example, `ccn data info MUTAG`, `ccn data info molecules.csv --target-columns activity --out report`.

    Parameters
    ----------
    source: str
        A name that `ccn data list` shows, or the path of a table of molecules or of graphs.
    smiles_column: str
        The column of SMILES; by default found.
    target_columns: list[str]
        The columns to learn; by default found.
    weight_column: str
        A column of weights.
    group_column: str
        A column of groups.
    split_column: str
        A column that says which part a row belongs to.
    id_column: str
        A column of names.
    task: str
        Classification or regression; by default found.
    features: str
        Set of atom and bond features.
    hydrogens: bool
        Make hydrogens vertices.
    energies: str
        Kind of energies of QM9; by default atomisation.
    strict: bool
        Stop at the first bad row.
    graphs: int
        How many graphs to draw.
    out: Path
        Folder for a PNG and dropped.csv; by default the picture is drawn in the terminal and dropped.csv goes into the
        current folder, if there is something to say in it.
    json: bool
        Print JSON for machines, and draw nothing in the terminal.

    """
    from ccn.datasets import load
    from ccn.datasets.remarks import summary

    given: dict[str, Any] = {
        "smiles_column": smiles_column,
        "target_columns": target_columns,
        "weight_column": weight_column,
        "group_column": group_column,
        "split_column": split_column,
        "id_column": id_column,
        "task": task,
        "features": features,
        "hydrogens": hydrogens,
        "energies": energies,
        "strict": strict or None,
    }
    found = load(source, **{key: value for key, value in given.items() if value is not None})
    picture = None
    if out is not None:
        from ccn.datasets.pictures import draw, spread

        out.mkdir(parents=True, exist_ok=True)
        picture = draw(found, spread(found, max(1, graphs)), out / f"{found.name}.png")
    report = None
    if found.dropped or found.noted:
        report = found.write_dropped((out or Path()) / "dropped.csv")
    if json:
        print_json(_json(found) | {"picture": picture and str(picture)})
        return
    _show(found)
    if picture is None and graphs > 0:
        _sketches(found, graphs)
    elif picture is not None:
        print(f"picture: {picture}")
    print(f"{len(found):,} graphs; {summary(found.dropped, found.noted)}" + (f"; see {report}" if report else ""))


def _targets(found: Dataset) -> list[dict[str, Any]]:
    """The statistics of each target of a regression."""
    import numpy as np

    rows = []
    units = found.units or ("",) * len(found.target_names)
    for name, unit, column in zip(found.target_names, units, found.targets.T, strict=True):
        given = column[~np.isnan(column)]
        figures = (given.mean(), given.std(ddof=1), given.min(), given.max()) if len(given) > 1 else (np.nan,) * 4
        keys = ("mean", "deviation", "min", "max")
        rows.append(
            {
                "name": name,
                "unit": unit,
                **{k: None if np.isnan(v) else float(v) for k, v in zip(keys, figures, strict=True)},
                "missing": int(np.isnan(column).sum()),
            }
        )
    return rows


def _json(found: Dataset) -> dict[str, Any]:
    s = found.statistics()
    return {
        "name": found.name,
        **asdict(s),
        "mean_vertices": s.mean_vertices,
        "mean_edges": s.mean_edges,
        "note": found.note,
        "options": dict(found.options),
        "target_statistics": _targets(found) if found.task == "regression" else [],
        "dropped": [asdict(r) for r in found.dropped],
        "noted": [asdict(r) for r in found.noted],
    }


def _show(found: Dataset) -> None:
    s = found.statistics()
    table = _table(found.name, "", "")
    table.show_header = False
    rows = [
        ("graphs", f"{s.graphs:,}"),
        ("vertices", f"{s.vertices:,} ({s.mean_vertices:.2f} on average, {s.smallest} to {s.largest})"),
        ("edges", f"{s.edges:,} ({s.mean_edges:.2f} on average)"),
        ("features of vertices", f"{s.vertex_features}: {_names(found.vertex_names)}".rstrip(": ")),
        ("features of edges", f"{s.edge_features}: {_names(found.edge_names)}".rstrip(": ")),
        ("task", found.task),
    ]
    if s.classes:
        rows.append(("classes", ", ".join(f"{c}: {k:,}" for c, k in s.classes.items())))
    rows += [(key.replace("_", " "), str(value)) for key, value in found.options.items() if not isinstance(value, list)]
    if found.note:
        rows.append(("note", found.note))
    for row in rows:
        table.add_row(*row)
    console().print(table)
    if found.task == "regression" and found.target_names:
        columns = ("target", "unit", "mean", "deviation", "min", "max", "missing")
        targets = _table("Targets", *columns, right=frozenset(columns[2:]))
        for t in _targets(found)[:30]:
            figures = ("" if t[k] is None else f"{t[k]:.6g}" for k in ("mean", "deviation", "min", "max"))
            targets.add_row(t["name"], t["unit"], *figures, str(t["missing"]))
        console().print(targets)
        if len(found.target_names) > 30:
            print(f"and {len(found.target_names) - 30} more targets")


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names[:8]) + (", .." if len(names) > 8 else "")


def _sketches(found: Dataset, count: int) -> None:
    from rich.columns import Columns
    from rich.text import Text

    from ccn.datasets.pictures import sketch, spread

    console().print(Columns([Text(sketch(found, i)) for i in spread(found, min(count, 3))], padding=(0, 4)))

"""``ccn data``: list the data sets, describe one or a file, fetch one, find cliffs."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App

from ccn.cli.options import Flag, Json, Output
from ccn.cli.show import console, print_json, printable, table
from ccn.cli.sources import SourceFlags, read

if TYPE_CHECKING:
    from ccn.datasets import Dataset
    from ccn.datasets.dataset import Statistics

__all__ = ["data"]

_MOST_TARGETS = 30

data = App(name="data", help="List data sets, describe one or a file, fetch one, find activity cliffs.")


@data.command(name="list")
def list_(*, compute: Flag = False, markdown: Flag = False, json: Json = False) -> None:
    """List the data sets that have a name, with size, origin and licence, and whether they are on this machine.

    For example, `ccn data list`, or `ccn data list --markdown` for the table of the documentation.

    Args:
        compute: Compute the statistics of the data sets on this machine instead of showing the stored ones.
        markdown: Print a Markdown table.
    """
    from ccn.datasets.registry import ENTRIES, find
    from ccn.datasets.statistics import compute as computed
    from ccn.datasets.statistics import known

    statistics = known() | (computed() if compute else {})
    rows = []
    for name, entry in ENTRIES.items():
        s, place = statistics[name], find(entry)
        means = {"mean_vertices": round(s.mean_vertices, 2), "mean_edges": round(s.mean_edges, 2)}
        about = {"origin": entry.origin, "licence": entry.licence, "at_hand": place and place.place}
        source = entry.url or (f"package {entry.package[0]}" if entry.package else None)
        rows.append({"name": name, **asdict(s), **means, **about, "source": source})
    if json:
        print_json(rows)
        return
    head = ["data set", "graphs", "classes or targets", "vertices", "edges", "origin", "licence", "at hand"]
    cells = []
    for r in rows:
        s = statistics[r["name"]]
        to_learn = _classes(s) or (s.targets[0] if len(s.targets) == 1 else f"{len(s.targets)} targets")
        sizes = [f"{r['graphs']:,}", to_learn, f"{r['mean_vertices']:.2f}", f"{r['mean_edges']:.2f}"]
        at_hand = r["at_hand"] or ("no; can be fetched" if r["source"] else "no")
        cells.append([r["name"], *sizes, r["origin"], r["licence"], at_hand])
    if markdown:  # without the last column, which depends on the machine
        from ccn.reports.markup import markdown as as_markdown

        print(as_markdown(head[:-1], [line[:-1] for line in cells], "lrlrrll"))
        return
    table("Data sets; vertices and edges are means", head, cells, {*head} - {"graphs", "vertices", "edges"})


def _classes(s: Statistics) -> str:
    return ", ".join(f"{c}: {k:,}" for c, k in s.classes.items())


@data.command
def get(name: str, /) -> None:
    """Fetch a data set into the cache, unless it is on this machine.

    For example, `ccn data get NCI1`. Downloads are checked against known hashes; for a data set without a public
    source, an error says which file to put where.

    Args:
        name: A name that `ccn data list` shows.
    """
    from ccn.datasets.registry import ENTRIES, entry_of, fetch, find
    from ccn.errors import DataError

    entry = entry_of(name)
    if entry is None:
        raise DataError(f"{name}: no data set of this name; the names are {', '.join(ENTRIES)}")
    place = find(entry)
    what = "fetched and checked" if place is None else f"at hand in {place.place}"
    print(f"{entry.name}: {what}, {(place or fetch(entry)).path}")


@data.command
def info(
    source: str,
    /,
    *,
    energies: Literal["atomisation", "total"] | None = None,
    graphs: int = 6,
    output: Annotated[Path | None, Output] = None,
    html: Path | None = None,
    json: Json = False,
    flags: SourceFlags | None = None,
) -> None:
    """Describe a data set or a file: statistics, invalid rows, a picture of a few graphs.

    For example, `ccn data info MUTAG`, `ccn data info molecules.csv --target activity -o report`, or
    `ccn data info molecules.csv --html page.html`.

    Invalid rows are dropped; the last line says how many and why, and dropped.csv lists them.

    Args:
        source: A name that `ccn data list` shows, or the path of a table of molecules or of graphs.
        energies: Kind of energies of QM9; by default atomisation.
        graphs: Number of graphs to draw.
        output: Folder for a PNG and dropped.csv; by default the terminal shows the picture and dropped.csv, if there is
            need of it, is written to the current folder.
        html: Also write a page to this file: molecules, the distribution of each target, repeated molecules whose
            targets disagree, salts, and cliffs. Its figures are written to figures/ beside it.
    """
    from ccn.datasets.dataset import summary
    from ccn.datasets.pictures import draw, sketch, spread
    from ccn.errors import ConfigurationError

    if graphs < 0:
        raise ConfigurationError(f"--graphs {graphs}: give 0 for none, or more")
    found = read(source, flags, energies=energies)
    picture = dropped = None
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        picture = draw(found, spread(found, graphs or 1), output / f"{found.name}.png")
    if found.dropped or found.noted:
        dropped = found.write_dropped((output or Path()) / "dropped.csv")
    if html is not None:
        from ccn.reports.report import write_data_page

        write_data_page(found, html)
    if json:
        print_json(_json(found) | {"picture": picture and str(picture), "page": html and str(html)})
        return
    _show(found)
    if picture is not None:
        print(f"picture: {picture}")
    elif graphs > 0:
        from rich.columns import Columns
        from rich.text import Text

        shown = [Text(printable(sketch(found, i))) for i in spread(found, min(graphs, 3))]
        console().print(Columns(shown, padding=(0, 4)))
    if html is not None:
        print(f"page: {html}")
    invalid = printable(summary(found.dropped, found.noted))
    print(f"{len(found):,} graphs; {invalid}" + (f"; see {dropped}" if dropped else ""))


@data.command
def cliffs(
    source: str,
    /,
    *,
    output: Annotated[Path | None, Output] = None,
    similarity: float = 0.7,
    apart: float | None = None,
    most: int = 10,
    json: Json = False,
    flags: SourceFlags | None = None,
) -> None:
    """Find activity cliffs: similar molecules whose values differ strongly, with the differences marked on both.

    For example, `ccn data cliffs molecules.csv --target activity -o cliffs.html`.

    Such pairs are errors of measurement or of transcription, or what there is to learn. Similarity is Tanimoto's of
    counted Morgan fingerprints of radius 2; the steepest pairs come first: the difference over 1 - similarity.

    Args:
        source: The path of a table of molecules, or a name that `ccn data list` shows.
        output: Page to write, .html; without it the pairs are printed.
        similarity: Least similarity of a pair, from 0 to 1.
        apart: Least difference of a pair; by default one standard deviation, or another class.
        most: Number of pairs.
    """
    from ccn.errors import ConfigurationError
    from ccn.explain.neighbours import cliffs as found_in
    from ccn.explain.writing import cliffs_page
    from ccn.files import write_atomically

    if output is not None and output.suffix.lower() != ".html":
        raise ConfigurationError(f"{output}: cliffs are drawn on an .html page; rename the output")
    if most < 1:
        raise ConfigurationError(f"--most {most}: give at least 1")
    found = read(source, flags)
    if found.smiles is None or not found.target_names:
        raise ConfigurationError(f"{source}: cliffs need molecules with a target; name it with --target")
    name, names = found.target_names[0], [str(c) for c in found.classes]
    pairs = found_in(
        list(found.smiles),
        found.targets[:, 0],
        similarity=similarity,
        apart=(0.5 if names else None) if apart is None else apart,
        most=most,
    )
    numbers = range(1, len(found) + 1) if found.rows is None else found.rows.tolist()
    if json:
        print_json([asdict(pair) | {"rows": [numbers[i] for i in pair.rows]} for pair in pairs])
        return

    def called(i: int) -> str:
        return (found.ids[i] if found.ids is not None else "") or f"row {numbers[i]}"

    if output is not None:
        write_atomically(output, cliffs_page(pairs, f"Activity cliffs of {name}", names, called).encode())
        print(printable(f"{len(pairs)} pairs of {found.name}; written to {output}"))
        return
    rows = []
    for pair in pairs:
        rows.append([f"{pair.similarity:.2f}"])
        for i, smiles, y in zip(pair.rows, pair.smiles, pair.values, strict=True):
            rows[-1] += [called(i), smiles, names[int(y)] if names else f"{y:.4g}"]
    head = ["similarity", "first", "", name, "second", "", name]
    table(f"Activity cliffs of {name}", head, rows, {"first", "second", ""})


def _targets(found: Dataset) -> list[dict[str, Any]]:
    """The statistics of each target of a regression."""
    import numpy as np

    statistics: dict[str, Any] = {"mean": np.mean, "deviation": partial(np.std, ddof=1), "min": np.min, "max": np.max}
    rows = []
    units = found.units or ("",) * len(found.target_names)
    for name, unit, column in zip(found.target_names, units, np.asarray(found.targets).T, strict=True):
        known = column[~np.isnan(column)]
        values = {key: float(of(known)) if len(known) > 1 else None for key, of in statistics.items()}
        rows.append({"name": name, "unit": unit, **values, "missing": len(column) - len(known)})
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
        "dropped": [vars(r) for r in found.dropped],
        "noted": [vars(r) for r in found.noted],
    }


def _show(found: Dataset) -> None:
    s = found.statistics()
    rows = {
        "graphs": f"{s.graphs:,}",
        "vertices": f"{s.vertices:,} ({s.mean_vertices:.2f} on average, {s.smallest} to {s.largest})",
        "edges": f"{s.edges:,} ({s.mean_edges:.2f} on average)",
        "vertex features": f"{s.vertex_features}: {_names(found.vertex_names)}".rstrip(": "),
        "edge features": f"{s.edge_features}: {_names(found.edge_names)}".rstrip(": "),
        "task": found.task,
        "classes": _classes(s),
        **{key.replace("_", " "): str(value) for key, value in found.options.items() if not isinstance(value, list)},
        "note": found.note,
    }
    table(found.name, ["", ""], [[key, value] for key, value in rows.items() if value])
    if found.task == "regression" and found.target_names:
        keys = ("mean", "deviation", "min", "max")
        targets = [
            [t["name"], t["unit"], *("" if t[k] is None else f"{t[k]:.6g}" for k in keys), str(t["missing"])]
            for t in _targets(found)[:_MOST_TARGETS]
        ]
        table("Targets", ["target", "unit", *keys, "missing"], targets, {"target", "unit"})
        if (more := len(found.target_names) - _MOST_TARGETS) > 0:
            print(f"and {more} more targets")


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names[:8]) + (", .." if len(names) > 8 else "")

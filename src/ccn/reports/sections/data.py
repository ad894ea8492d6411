"""What was learned from which data, what is wrong with these, and how they were split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from ccn.chemistry.depiction import depict
from ccn.chemistry.smiles import parse_smiles
from ccn.datasets.findings import ALIKE, FAR
from ccn.datasets.pictures import draw_graphs
from ccn.explain.neighbours import common
from ccn.learning.metrics import LABELS
from ccn.reports.figures import COLOURS, INK, MUTED, Picture, slug, wrapped
from ccn.reports.page import Block, Section, bullets, paragraph, table, tiles
from ccn.reports.run import Run, label
from ccn.reports.summary import censored_text, figure, overlap_text, replicates_text

__all__ = ["data_sections", "faults", "learned", "molecule", "pair_figure", "pair_tiles", "parts"]

_MOST_TARGETS = 12
_NAMED = 3  # targets that a sentence or a tile names; the head of the page names them too
_DIFFERENT = 2  # targets shown of a pair, those that differ most
_LONG = 90  # characters of a SMILES


def molecule(smiles: str, **how: Any) -> Markup:
    """The drawing of a molecule, or its SMILES where it cannot be drawn; ``apart_from`` these atoms all are marked."""
    if "apart_from" in how:
        same = set(how.pop("apart_from"))
        how["atoms"] = [i for i in range(parse_smiles(smiles).GetNumAtoms()) if i not in same]
    drawn = depict(smiles, **how)
    return Markup(drawn) if drawn else Markup("<p>{}</p>").format(smiles[:_LONG])


def _value_lines(d: Mapping[str, Any], values: Sequence[Any]) -> list[str]:
    """The known targets of a row, a line each."""
    there = [(t, v) for t, v in enumerate(values) if v is not None]
    lines = [f"{label(d, t)}: {figure(v) if isinstance(v, float | int) else v}" for t, v in there[:_NAMED]]
    return lines + ([f"and {len(there) - _NAMED} more"] if len(there) > _NAMED else [])


def _named(row: Mapping[str, Any]) -> str:
    return str(row.get("id") or f"row {row['row']}")


def learned(run: Run) -> Section:
    """The targets, the rows, a few of the molecules, and how the targets are distributed."""
    d = run.data
    what = "classes" if d["task"] == "classification" else "numbers"
    count = len(run.task.targets)
    targets = ", ".join(map(run.label, range(count))) if count <= _NAMED else f"{count} targets"
    first = paragraph(f"Learned: {targets} ({what}), from {Path(run.config['source']).name}.")
    return Section("What was learned", [first, *_shown(d)])


def _shown(d: Mapping[str, Any]) -> list[Block]:
    """A few molecules or graphs, and the distributions of the targets."""
    blocks: list[Block] = []
    if d.get("examples"):
        what = "Molecules of the training part" if len(d["parts"]) > 1 else "Some molecules"
        evenly = ", evenly over the values of the first target" if d["targets"] else ""
        made = [(molecule(e["smiles"]), [_named(e), *_value_lines(d, e["values"])]) for e in d["examples"]]
        blocks += [paragraph(f"{what}{evenly}:"), tiles(made)]
    elif d.get("graphs"):
        blocks.append(_graphs(d))
    shown = range(min(_MOST_TARGETS, len(d["targets"])))
    blocks.append([_distribution(d, t) for t in shown if d["distributions"][t]["counts"]])
    if (more := len(d["targets"]) - len(shown)) > 0:
        blocks.append(paragraph(f"{more} more targets are not drawn."))
    return blocks


def data_sections(d: Mapping[str, Any]) -> list[Section]:
    """The sections of a page about data that no run belongs to, from what :func:`describe` found."""
    return [Section("The data", _shown(d)), Section("Data quality", [*_remarks(d), *_findings(d)])]


def _graphs(d: Mapping[str, Any]) -> Picture:
    graphs = d["graphs"]
    draw = partial(draw_graphs, graphs, d.get("vertex_names", ()), INK)
    columns = min(3, len(graphs))
    size = (3.2 * columns, 3.0 * -(-len(graphs) // columns) + 0.4)
    return Picture("graphs", "graphs of the data", draw, size, "Graphs of the data, coloured by the kind of vertex.")


def _distribution(d: Mapping[str, Any], t: int) -> Picture:
    found, name = d["distributions"][t], label(d, t)
    counts = {part: np.array(c, dtype=float) for part, c in found["counts"].items() if sum(c)}

    def draw(figure: Any) -> None:
        axes = figure.add_subplot()
        for (part, count), colour in zip(counts.items(), COLOURS, strict=False):
            share, said = 100 * count / count.sum(), f"{part if len(counts) > 1 else 'rows'} ({int(count.sum()):,})"
            if "edges" in found:
                axes.stairs(share, found["edges"], color=colour, lw=1.5, label=said)
            else:
                place = list(counts).index(part)
                width = 0.8 / len(counts)
                axes.bar(np.arange(len(share)) + (place - (len(counts) - 1) / 2) * width, share, width, color=colour,
                         label=said)  # fmt: skip
        if "edges" not in found:
            axes.set_xticks(range(len(d["classes"])), [wrapped(c, 14) for c in d["classes"]])
            axes.grid(visible=False, axis="x")
        axes.set(xlabel=wrapped(name), ylabel="share of the part, %", title="distribution")
        figure.legend(loc="outside lower center", ncols=min(3, len(counts)))

    missing = found.get("missing") or 0
    caption = f"{missing:,} rows have no value." if missing else ""
    return Picture(f"distribution-{t + 1}-{slug(name)}", f"distribution of {name}", draw, (4.4, 3.5), caption)


def faults(run: Run) -> Section:
    """Rows that were dropped or noted, repeated molecules, salts, twins, cliffs, and what can be resolved."""
    found = run.metrics
    blocks = _remarks(run.data)
    if found.get("censored"):
        blocks.append(paragraph(censored_text(found["censored"])))
    if found.get("replicates"):
        blocks.append(paragraph(replicates_text(found["replicates"])))
    if resolution := _resolution(run):
        blocks.append(paragraph(resolution))
    return Section("Data quality", [*blocks, *_findings(run.data)])


def _remarks(d: Mapping[str, Any]) -> list[Block]:
    """How many rows were dropped or noted, and why."""
    lines = [f"{_rows(count)} dropped: {kind}." for kind, count in d["dropped"].items()]
    lines += [f"{_rows(count)} kept but noted: {_spoken(kind)}." for kind, count in d["noted"].items()]
    lines = lines or ["Every row was read, and none was unusual."]
    if d["dropped"] or d["noted"]:
        lines.append("All of them are in dropped.csv.")
    return [bullets(lines)]


def _rows(count: int) -> str:
    return f"{count:,} row{'s' * (count != 1)}"


def _findings(d: Mapping[str, Any]) -> list[Block]:
    """Repeated molecules and cliffs."""
    blocks: list[Block] = []
    if repeated := d.get("repeated"):
        blocks += _repeated(d, repeated)
    if cliffs := d.get("cliffs"):
        blocks += _cliffs(d, cliffs)
    return blocks


def _spoken(kind: str) -> str:
    return "disconnected (salts and mixtures)" if kind == "disconnected" else kind


def _resolution(run: Run) -> str:
    """The smallest difference between two models that these rows can resolve."""
    parts = []
    for name in run.shared[:1] if run.task.kind == "regression" else ("roc_auc", "accuracy"):
        sure, label = run.intervals.get(name), LABELS.get(name, name)
        if sure is not None and np.isfinite(sure.half_width):
            unit = run.unit(0) if len(run.task.targets) == 1 and name == "mae" else ""
            parts.append(f"{sure.half_width:.2g} {unit}".strip() + f" in {label}")
    if not parts:
        return ""
    return (
        f"With these {len(run.rows):,} {run.part} differences under {' or '.join(parts)} cannot be resolved: a model "
        "that is better by less may be better by chance (half of the 95 % interval, which is what two models need "
        "whose errors are correlated by one half)."
    )


def _repeated(d: Mapping[str, Any], found: Mapping[str, Any]) -> list[Block]:
    if not found["molecules"]:
        return [paragraph("No molecule is in several rows.")]
    joined = f", which were joined by their {found['joined']}" if found.get("joined") else ""
    count, apart = found["molecules"], found["disagree"]
    said = f"{count:,} molecule{'s are' if count > 1 else ' is'} in several rows, {found['rows']:,} in all{joined}; "
    said += f"the rows of {apart:,} disagree." if apart else "none disagree."
    if not found["worst"]:
        return [paragraph(said)]
    made = []
    for one in found["worst"]:
        named = ", ".join(one["ids"]) if all(one.get("ids") or [""]) else f"rows {', '.join(map(str, one['rows']))}"
        values = [
            f"{label(d, t)}: "
            + ", ".join(figure(v) if isinstance(v, float) else str(v) for v in column if v is not None)
            for t, column in enumerate(zip(*one["values"], strict=True))
            if len({v for v in column if v is not None}) > 1
        ]
        made.append((molecule(one["smiles"]), [named, *values[:4]]))
    return [paragraph(f"{said} Those that disagree most:"), tiles(made)]


def pair_figure(d: Mapping[str, Any], pair: Sequence[Mapping[str, Any]], first: str, marked: bool = False) -> Markup:
    """Two molecules; where ``marked``, with what is outside of their largest common substructure in colour."""
    ways: list[dict[str, Any]] = [{}, {}]
    if marked and (same := common(pair[0]["smiles"], pair[1]["smiles"])):
        ways = [{"apart_from": atoms} for atoms in zip(*same, strict=True)]
    drawings = Markup("").join(
        Markup("<div>{}</div>").format(molecule(one["smiles"], **way)) for one, way in zip(pair, ways, strict=True)
    )
    a, b = (one["values"] for one in pair)
    apart = [_apart(d, t, x, y) for t, (x, y) in enumerate(zip(a, b, strict=True))]
    most = sorted(apart, reverse=True)[:_DIFFERENT][-1] if apart else 0.0
    shown = [x > 0 and x >= most for x in apart] if any(apart) else [True] * len(a)
    lines = [
        " · ".join([_named(one), *_value_lines(d, [v if s else None for v, s in zip(values, shown, strict=True)])])
        for one, values in zip(pair, (a, b), strict=True)
    ]
    caption = Markup("").join(Markup("<span>{}</span>").format(line) for line in lines)
    return Markup(
        '<figure class="tile pair"><div class="drawing">{}</div><figcaption><strong>{}</strong>{}</figcaption></figure>'
    ).format(drawings, first, caption)


def _apart(d: Mapping[str, Any], t: int, x: Any, y: Any) -> float:
    """By how many standard deviations two values of a target differ; classes by one."""
    if x is None or y is None or x == y:
        return 0.0
    spread = d["distributions"][t].get("deviation")
    return abs(x - y) / (spread or 1.0) if isinstance(x, float | int) and isinstance(y, float | int) else 1.0


def pair_tiles(made: Sequence[Markup]) -> Markup:
    """Such pairs, one after another."""
    return Markup('<div class="tiles pairs">{}</div>').format(Markup("").join(made))


def _cliffs(d: Mapping[str, Any], found: Mapping[str, Any]) -> list[Block]:
    compared = found["compared"]
    of = "" if compared["rows"] == compared["of"] else f" among {compared['rows']:,} of {compared['of']:,} rows"
    numbers = f"differ by {FAR:g} standard deviations or more"
    differ = "are of different classes" if d["task"] == "classification" else numbers
    pairs = f"{found['count']:,} pair{'s' * (found['count'] != 1)}"
    said = f"Cliffs{of}: {pairs} of molecules with a similarity (Tanimoto, Morgan) of {ALIKE:g} or more {differ}."
    if not found["pairs"]:
        return [paragraph(said)]
    made = [pair_figure(d, one["pair"], f"similarity {one['similarity']:.2f}", marked=True) for one in found["pairs"]]
    return [
        paragraph(f"{said} The steepest, with what is not in their largest common part in colour:"),
        pair_tiles(made),
    ]


def parts(run: Run) -> Section:
    """The sizes of the parts, how similar they are, and molecules that are in two of them."""
    d, found = run.data, run.metrics
    splitting = run.config.get("splitting", {})
    kind = splitting.get("split", "none")
    how = "a file" if splitting.get("splits_file", "none") != "none" else kind if kind != "none" else "by default"
    sizes = ", ".join(f"{name} {count:,}" for name, count in found["graphs"].items() if count)
    blocks: list[Block] = [paragraph(f"Split: {how}, seed {run.config['seed']}. Rows: {sizes}.")]
    if run.crossed:
        folds = found["cross_validation"]["folds"]
        blocks.append(
            paragraph(
                f"There is no test part: in each of {folds} folds a model that was fitted on the other rows predicted "
                "those of the fold, and the model of this run was then fitted on all rows."
            )
        )
        if before := found["cross_validation"].get("seen_before"):
            blocks.append(
                paragraph(
                    f"{before:,} of the rows are molecules that the model it started from has seen: their predictions "
                    "are better than those of new ones."
                )
            )
    if found["overlap"] is None:
        blocks.append(paragraph("Rows of one structure in two parts are not recognised: the graphs are not molecules."))
    elif found["shared_molecules"]:
        blocks.append(paragraph(f"Molecules in more than one part of the split: {found['shared_molecules']:,}."))
    else:
        blocks.append(paragraph("No molecule is in more than one part of the split."))
    for part, same in (found["overlap"] or {}).items():
        if "without" in same:
            blocks.append(paragraph(overlap_text(same, found["graphs"][part], f"{part} ")))
    similar = {} if run.crossed else {name: one for name, one in (d.get("similarity") or {}).items() if one["rows"]}
    if similar:
        blocks.append(_similarity(similar))
        rows = []
        for name, one in similar.items():
            s = np.array(one["similarity"])
            counts = [f"{np.median(s):.2f}", *(f"{100 * (s < x).mean():.0f} %" for x in (0.3, 0.5)), str(one["twins"])]
            rows.append([name, f"{len(s):,}", *counts])
        head = ["part", "rows compared", "median", "below 0.3", "below 0.5", "twins"]
        blocks.append(table(head, rows))
        if twins := [pair for one in similar.values() for pair in one["twin_pairs"]][:6]:
            said = (
                "Twins have the same circular parts as a training molecule, such as a stereoisomer or a longer chain; "
                "the model has all but seen them:"
            )
            blocks += [paragraph(said), pair_tiles([pair_figure(d, pair, "twins") for pair in twins])]
    return Section("The split", blocks)


def _similarity(found: Mapping[str, Any]) -> Picture:
    def draw(figure: Any) -> None:
        axes = figure.add_subplot()
        for (part, one), colour in zip(found.items(), COLOURS[1:], strict=False):
            share = np.histogram(one["similarity"], np.linspace(0, 1, 21))[0] / max(1, len(one["similarity"]))
            axes.stairs(100 * share, np.linspace(0, 1, 21), color=colour, lw=1.5, label=part, zorder=3)
        axes.axvline(0.3, color=MUTED, lw=1, ls=":")
        axes.set(xlabel="similarity to the nearest training molecule", ylabel="share of the part, %", xlim=(0, 1))
        figure.legend(loc="outside lower center", ncols=2)

    caption = (
        "Tanimoto similarity of Morgan fingerprints to the nearest training molecule: 1 for the same circular parts; "
        "below 0.3 (dotted) a molecule has little in common with any of training."
    )
    return Picture("similarity", "similarity of the parts", draw, (5.2, 3.4), caption)

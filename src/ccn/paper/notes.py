"""Notes below a table: what its marks mean, and the settings that the records of its methods tell."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ccn.methods.network import NetworkMethod
from ccn.methods.registry import make_method
from ccn.paper.comparison import LEVEL, Figure
from ccn.paper.records import Record
from ccn.training.recipe import PAPER_WIDTHS, SECTIONS, Recipe, to_dict

__all__ = ["fewer_rows", "looks", "marks", "settings", "timeouts"]


def marks(figures: Iterable[Figure]) -> list[str]:
    """What bold and the dagger mean, where they occur."""
    shown = list(figures)
    bold = "Bold: our best result, among methods with the same number of splits."
    dagger = (
        "†: not significantly worse than the best (corrected resampled t-test of Nadeau and Bengio, two-sided, "
        f"level {LEVEL}; the ratio of test to training rows is 1/8)."
    )
    return [bold] * any(f.best for f in shown) + [dagger] * any(f.close for f in shown)


def timeouts(records: Iterable[Record]) -> list[str]:
    """After how long cells timed out."""
    seconds = [r.seconds for r in records if r.status == "timeout"]
    if not seconds:
        return []
    after = dict.fromkeys(_time(s) for s in (min(seconds), max(seconds)))
    return [f"Timed out: a cell of one method and split was stopped after {' to '.join(after)}."]


def settings(records: Sequence[Record], methods: Sequence[str]) -> list[str]:
    """Inputs, recipes, ensembles and the number of networks."""
    done = [r for r in records if r.status == "done" and r.method in methods]
    first = {r.method: r for r in reversed(done)}
    known = [first[m] for m in methods if m in first]
    widths = ", ".join(map(str, PAPER_WIDTHS))
    left_open = f"where the paper gives no value: {{what}}, a first width chosen on validation from {widths}."
    number = _notes(known, _several_targets, "{what}: {names}.")
    return [
        *_notes(known, _inputs, "Atoms are described by {what}: {names}."),
        *_notes(known, _left_open, "{names}, " + left_open),
        *_notes(done, _changed, "{method} on {names}: {what}.", by_dataset=True),
        *_notes(done, _earlier, "{method} on {names}, before its recipe changed: {what}.", by_dataset=True),
        *sorted(number, reverse=True),  # networks first
    ]


def fewer_rows(records: Sequence[Record], methods: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Labels of methods that learn from fewer rows than the others, and a note with how many those have."""
    rows: dict[str, dict[str, int]] = {}  # by data set and method
    for r in records:
        if r.status == "done" and r.method in methods and "rows" in r.config:
            rows.setdefault(r.dataset, {})[r.method] = r.config["rows"]
    labels = {  # splits of one data set differ by a row or two
        m: f"{m} ({n:,} training rows)" for of in rows.values() for m, n in of.items() if n < 0.9 * max(of.values())
    }
    most = max((n for of in rows.values() for n in of.values()), default=0)
    return labels, [f"Training rows, unless noted otherwise: {most:,}."] if labels else []


def looks(history: Iterable[Record]) -> list[str]:
    """How often test parts that are fixed were looked at, by day and version, also by cells that were run again."""
    counted: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for r in history:
        if r.status == "done":
            counted[r.details["date"], r.version][r.method] += 1
    return [
        f"Looks at the test parts on {day}, ccn {version}: {counts.total()} cells "
        f"({', '.join(f'{method} {count}' for method, count in counts.items())})."
        for (day, version), counts in sorted(counted.items())
    ]


def _time(seconds: float) -> str:
    return f"{seconds:.3g} seconds" if seconds < 60 else f"{seconds / 60:.3g} minutes"


def _notes(
    records: Iterable[Record], what: Callable[[Record], str], template: str, *, by_dataset: bool = False
) -> list[str]:
    """A note for each text that ``what`` returns, with the methods that have it; or with data sets, for each method."""
    groups: dict[tuple[str, str], dict[str, None]] = {}
    for r in records:
        if text := what(r):
            groups.setdefault((r.method if by_dataset else "", text), {})[r.dataset if by_dataset else r.method] = None
    return [template.format(method=m, what=text, names=", ".join(names)) for (m, text), names in groups.items()]


def _inputs(r: Record) -> str:
    if "features" not in r.config:
        return ""
    hydrogens = "included" if r.config.get("hydrogens") else "left out"
    bonds = _section(r, "network").get("edge_features")
    return f"the set {r.config['features']}, hydrogens {hydrogens}" + ", and bonds by their features" * bool(bonds)


def _left_open(r: Record) -> str:
    """What the recipes ``paper`` and ``authors`` set that the paper leaves open."""
    training = _section(r, "training")
    if r.config.get("recipe", {}).get("name") not in ("paper", "authors") or "batch_size" not in training:
        return ""
    return f"batches of {training['batch_size']} graphs, {training.get('epochs')} epochs"


def _changed(r: Record) -> str:
    """Ensembles, and settings that a data set changed."""
    members = _section(r, "training").get("members", 1)
    changes = r.config.get("options", {}).get("settings") or {}
    said = [f"ensembles of {members} networks"] if members > 1 else []
    return ", ".join([*said, *(f"{name} {value}" for name, value in changes.items() if name != "members")])


def _earlier(r: Record) -> str:
    """Where the recipe of a method that derives from ``default`` has changed since a record was made, what it was."""
    then = r.config.get("recipe", {})
    if then.get("name") != "default" or not SECTIONS.keys() <= then.keys():
        return ""
    then = {
        section: {**values, **then[section]} for section, values in to_dict(Recipe()).items() if section in SECTIONS
    }
    given = {"rising", *(r.config.get("options", {}).get("settings") or {})}
    given |= {"least_steps"} if "epochs" in given else set()
    method = make_method(r.method, classification=r.metric == "accuracy")
    assert isinstance(method, NetworkMethod)  # it has a recipe
    now = to_dict(method.resolved())
    return ", ".join(
        f"{field} {then[section].get(field, 'none')}"
        for section in SECTIONS
        for field in dict.fromkeys((*now[section], *then[section]))
        # A record without a field that is never None is older than the field, whose default is what there was.
        if (field in then[section] or getattr(SECTIONS[section](), field) is None)
        and field not in given
        and now[section].get(field) != then[section].get(field)
    )


def _several_targets(r: Record) -> str:
    if len(r.details.get("targets", ())) < 2 or "chosen" not in r.config:
        return ""
    return "One network for all targets" if "targets" in r.config else "One model per target"


def _section(r: Record, name: str) -> Mapping[str, Any]:
    """A section of the recipe of a record; empty where it has none."""
    found: Mapping[str, Any] = r.config.get("recipe", {}).get(name, {})
    return found

"""Notes below a table: what its marks mean, and the settings that the records of its methods tell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from ccn.paper.comparison import LEVEL, Figure
from ccn.paper.records import Record
from ccn.training.recipe import PAPER_WIDTHS, SECTIONS, recipe, to_dict

__all__ = ["fewer_rows", "marks", "settings", "timeouts"]

G = TypeVar("G")


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
    return [*_inputs(known), *_left_open(known), *_special(done), *_earlier(done), *_several_targets(known)]


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


def _time(seconds: float) -> str:
    return f"{seconds:.3g} seconds" if seconds < 60 else f"{seconds / 60:.3g} minutes"


def _grouped(pairs: Iterable[tuple[str, G]]) -> dict[G, str]:
    """From (member, group) to the members of each group between commas, in the order of their first occurrence."""
    groups: dict[G, dict[str, None]] = {}
    for member, group in pairs:
        groups.setdefault(group, {})[member] = None
    return {group: ", ".join(members) for group, members in groups.items()}


def _inputs(known: Sequence[Record]) -> list[str]:
    def described(r: Record) -> str:
        hydrogens = "included" if r.config.get("hydrogens") else "left out"
        bonds = _section(r, "network").get("edge_features")
        return f"the set {r.config['features']}, hydrogens {hydrogens}" + ", and bonds by their features" * bool(bonds)

    inputs = _grouped((r.method, described(r)) for r in known if "features" in r.config)
    return [f"Atoms are described by {what}: {names}." for what, names in inputs.items()]


def _left_open(known: Sequence[Record]) -> list[str]:
    """What the recipe ``paper`` sets that the paper leaves open."""
    paper = [r for r in known if r.config.get("recipe", {}).get("name") == "paper"]
    training = {r.method: t for r in paper if "batch_size" in (t := _section(r, "training"))}
    how = _grouped((m, f"batches of {t['batch_size']} graphs, {t.get('epochs')} epochs") for m, t in training.items())
    widths = ", ".join(map(str, PAPER_WIDTHS))
    return [
        f"{names}, where the paper gives no value: {what}, a first width chosen on validation from {widths}."
        for what, names in how.items()
    ]


def _special(done: Sequence[Record]) -> list[str]:
    """Ensembles, and settings that a data set changed."""

    def changed(r: Record) -> str:
        members = _section(r, "training").get("members", 1)
        changes = r.config.get("options", {}).get("settings") or {}
        said = [f"ensembles of {members} networks"] if members > 1 else []
        return ", ".join([*said, *(f"{name} {value}" for name, value in changes.items() if name != "members")])

    return _by_method(done, changed)


def _earlier(done: Sequence[Record]) -> list[str]:
    """Where the recipe ``default`` has changed since a record was made, what it was."""

    def was(r: Record) -> str:
        then = r.config.get("recipe", {})
        if then.get("name") != "default" or not SECTIONS.keys() <= then.keys():
            return ""
        given = {"order", *(r.config.get("options", {}).get("settings") or {})}
        given |= {"least_steps"} if "epochs" in given else set()
        now = to_dict(recipe("default").for_task(classification=r.metric == "accuracy"))
        return ", ".join(
            f"{field} {then[section].get(field, 'none')}"
            for section in SECTIONS
            for field in dict.fromkeys((*now[section], *then[section]))
            if field not in given and now[section].get(field) != then[section].get(field)
        )

    return _by_method(done, was, ", before its recipe changed")


def _by_method(done: Sequence[Record], what: Callable[[Record], str], when: str = "") -> list[str]:
    """A note for each method and each text that ``what`` returns, which names the data sets."""
    datasets = _grouped((r.dataset, (r.method, what(r))) for r in done)
    return [f"{method} on {names}{when}: {text}." for (method, text), names in datasets.items() if text]


def _several_targets(known: Sequence[Record]) -> list[str]:
    of = [r for r in known if len(r.details.get("targets", ())) > 1 and "chosen" in r.config]
    number = {True: "One network for all targets", False: "One model per target"}
    found = _grouped((r.method, number["targets" in r.config]) for r in of)
    return [f"{what}: {found[what]}." for what in number.values() if what in found]


def _section(r: Record, name: str) -> Mapping[str, Any]:
    """A section of the recipe of a record; empty where it has none."""
    found: Mapping[str, Any] = r.config.get("recipe", {}).get(name, {})
    return found

"""What a reader of a table must know of the methods in it, from what their records say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ccn.paper.records import Record
from ccn.training.recipe import PAPER_WIDTHS, SECTIONS, recipe, to_dict

__all__ = ["fewer_rows", "timeouts", "what_was_given"]


def what_was_given(records: Sequence[Record], methods: Sequence[str]) -> list[str]:
    """Inputs, recipes, ensembles and the number of networks."""
    done = [r for r in records if r.status == "done" and r.method in methods]
    first = {r.method: r for r in reversed(done)}
    known = [first[m] for m in methods if m in first]
    return [*_inputs(known), *_paper(known), *_special(done), *_earlier(done), *_several_targets(known)]


def fewer_rows(records: Sequence[Record], methods: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Labels of methods that learn from fewer rows than the others, and how many those have."""
    rows: dict[str, dict[str, int]] = {}  # by data set and method
    for r in records:
        if r.status == "done" and r.method in methods and "rows" in r.config:
            rows.setdefault(r.dataset, {})[r.method] = r.config["rows"]
    labels = {  # splits of one data set differ by a row or two
        m: f"{m} ({n:,} training rows)" for of in rows.values() for m, n in of.items() if n < 0.9 * max(of.values())
    }
    most = max((n for of in rows.values() for n in of.values()), default=0)
    return labels, [f"Training rows, where nothing is said: {most:,}."] if labels else []


def timeouts(records: Iterable[Record]) -> list[str]:
    """After how long cells were ended."""
    seconds = [r.seconds for r in records if r.status == "timeout"]
    if not seconds:
        return []
    after = dict.fromkeys(_time(s) for s in (min(seconds), max(seconds)))
    return [f"Timed out: a cell of one method and split was ended after {' to '.join(after)}."]


def _time(seconds: float) -> str:
    return f"{seconds:.3g} seconds" if seconds < 60 else f"{seconds / 60:.3g} minutes"


def _inputs(known: Sequence[Record]) -> list[str]:
    inputs: dict[str, list[str]] = {}
    for r in known:
        if "features" in r.config:
            hydrogens = "included" if r.config.get("hydrogens") else "left out"
            bonds = r.config.get("recipe", {}).get("network", {}).get("edge_features")
            what = f"the set {r.config['features']}, hydrogens {hydrogens}" + ", and bonds by their features" * bool(
                bonds
            )
            inputs.setdefault(what, []).append(r.method)
    return [f"Atoms are described by {what}: {', '.join(names)}." for what, names in inputs.items()]


def _paper(known: Sequence[Record]) -> list[str]:
    """What the recipe ``paper`` has that the paper does not tell."""
    of: dict[str, list[str]] = {}
    for r in known:
        recipe = r.config.get("recipe", {})
        training = recipe.get("training", {})
        if recipe.get("name") == "paper" and "batch_size" in training:
            how = f"batches of {training['batch_size']} graphs, {training.get('epochs')} epochs"
            of.setdefault(how, []).append(r.method)
    widths = ", ".join(map(str, PAPER_WIDTHS))
    return [
        f"{', '.join(names)}, where the paper says nothing: {how}, a first width chosen on validation from {widths}."
        for how, names in of.items()
    ]


def _special(done: Sequence[Record]) -> list[str]:
    """Ensembles, and settings that a data set changed."""
    special: dict[tuple[str, str], dict[str, None]] = {}  # by method and what is special there the data sets
    for r in done:
        members = r.config.get("recipe", {}).get("training", {}).get("members", 1)
        changed = r.config.get("options", {}).get("settings") or {}
        said = [f"ensembles of {members} networks"] if members > 1 else []
        said += [f"{name} {value}" for name, value in changed.items() if name != "members"]
        if said:
            special.setdefault((r.method, ", ".join(said)), {})[r.dataset] = None
    return [f"{method} on {', '.join(on)}: {what}." for (method, what), on in special.items()]


def _earlier(done: Sequence[Record]) -> list[str]:
    """Where the recipe ``default`` has changed since a record was made, what it was."""
    earlier: dict[tuple[str, str], dict[str, None]] = {}  # by method and what was otherwise the data sets
    for r in done:
        then = r.config.get("recipe", {})
        if then.get("name") != "default" or not SECTIONS.keys() <= then.keys():
            continue
        given = {"order", *(r.config.get("options", {}).get("settings") or {})}
        given |= {"least_steps"} if "epochs" in given else set()
        now = to_dict(recipe("default").for_task(classification=r.metric == "accuracy"))
        was = [
            f"{field} {then[section].get(field, 'none')}"
            for section in SECTIONS
            for field in dict.fromkeys((*now[section], *then[section]))
            if field not in given and now[section].get(field) != then[section].get(field)
        ]
        if was:
            earlier.setdefault((r.method, ", ".join(was)), {})[r.dataset] = None
    return [f"{method} on {', '.join(on)}, before its recipe changed: {was}." for (method, was), on in earlier.items()]


def _several_targets(known: Sequence[Record]) -> list[str]:
    of = [r for r in known if len(r.details.get("targets", ())) > 1 and "chosen" in r.config]
    together = [r.method for r in of if "targets" in r.config]
    apart = [r.method for r in of if "targets" not in r.config]
    said = [f"One network for all targets: {', '.join(together)}."] if together else []
    return said + ([f"A model of its own for each target: {', '.join(apart)}."] if apart else [])

"""The flags of commands that look at data and train nothing, and the data set that they name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ccn.cli.options import ALL_SECTIONS, flags_of, given

if TYPE_CHECKING:
    from ccn.datasets import Dataset

__all__ = ["SourceFlags", "read"]

_SECTIONS = {name: ALL_SECTIONS[name] for name in ("data", "features")}
if TYPE_CHECKING:
    SourceFlags = Any
else:
    SourceFlags = flags_of(_SECTIONS, without=("class_weight", "replicates", "vertices"), consume_multiple=True)


def read(source: str, flags: SourceFlags | None, **more: Any) -> Dataset:
    """The data set of a path or a name as these flags and further options of :func:`ccn.datasets.load` say."""
    from ccn.datasets import load, options_of
    from ccn.runs.config import has_column, with_none
    from ccn.runs.data import ALL

    named = given(_SECTIONS, flags)
    features = named.get("features", {})
    options = {**named.get("data", {}), "features": features.pop("molecules", None), **more, **features}
    options = {key: value for key, value in with_none(source, options).items() if value is not None}
    if tuple(options.get("target_columns", ())) == (ALL,) and not has_column(source, ALL, options.get("sheet")):
        del options["target_columns"]
    if "target_columns" in options and "target_columns" not in options_of(source):
        options["targets"] = list(options.pop("target_columns"))
    return load(source, **options)

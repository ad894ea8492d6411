"""Recipes: all settings of a network and its training, as plain values.

A recipe is a frozen dataclass of a few frozen dataclasses, one per concern. Two have a name: ``paper`` is that of
Kondor et al. (2018) as far as they describe it, ``default`` is ours.

>>> r = recipe("default", order=1, epochs=5)
>>> r.network.order, r.training.epochs, r.optimiser.method
(1, 5, 'adamw')
>>> from_dict(to_dict(r)) == r
True
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from numbers import Integral, Real
from sys import float_info
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from ccn.errors import ConfigurationError
from ccn.learning.plain import plain, unplain
from ccn.learning.settings import Features, Loss
from ccn.settings import setting

__all__ = [
    "PAPER_WIDTHS", "RECIPES", "SECTIONS", "Features", "Network", "Optimiser", "Recipe", "Training", "changed",
    "from_dict", "recipe", "to_dict",
]  # fmt: skip

PAPER_WIDTHS = (4, 8, 16)
"""Channels of level 0, to choose from on validation: the paper does not give its number."""

_RANGES: dict[str, tuple[tuple[str, ...], Callable[[Any], bool]]] = {
    "not negative": (("levels", "least_steps"), lambda v: v >= 0),
    "more than 0": (("growth", "learning_rate", "clip"), lambda v: v > 0),
    "at least 0 and less than 1": (("dropout", "head_dropout", "warmup"), lambda v: 0 <= v < 1),
    "at least 1": (("patience",), lambda v: v >= 1),
    "an integer of at least 1": (("epochs", "batch_size", "members"), lambda v: type(v) is int and v >= 1),
}


class _Checked:
    """A section whose values are checked: those of a Literal by its choices, numbers by their range."""

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self))
        for f in fields(self):  # type: ignore[arg-type]
            value, must = getattr(self, f.name), ""
            if value is None and f.default is None:
                continue
            if get_origin(hints[f.name]) is Literal and value not in (choices := get_args(hints[f.name])):
                must = f"one of {', '.join(choices)}"
            for range_, (names, holds) in _RANGES.items():
                if f.name in names and not holds(value):
                    must = range_
            if must:
                raise ConfigurationError(f"{f.name}={value!r}: it must be {must}")


# A field that may be None has the default None: a TOML file has no null, so that such a field is left out there.


@dataclass(frozen=True)
class Network(_Checked):
    """The options of :class:`ccn.CCN` that do not follow from the data.

    ``scheme`` maps a graph to its composition scheme, by default that of closed neighbourhoods, with parts limited by
    ``max_part``. A dropout of None depends on the task (:meth:`Recipe.for_task`).
    """

    order: int | tuple[int, ...] = setting(2, "Order of the tensors; one number, or one per level: 2,2,1.")
    levels: int = setting(2, "Number of levels.")
    channels: int | tuple[int, ...] = setting(16, "Channels; one number, or one per level from level 0.")
    growth: float = setting(1.0, "Ratio of the channels of a level to those of the level below.")
    contractions: Any = setting("distinct", "Contractions: distinct, all, paper10 or complete.")
    adjacency: bool | Literal["both"] = setting(True, "Product with the adjacency matrix: true, false or both.")
    own: bool = setting(False, "Add the previous activation of each vertex.")
    edge_features: bool = setting(False, "Use edge features as further channels of the adjacency matrix.")
    nonlinearity: Any = setting("relu", "Nonlinearity of the levels.")
    norm: str | None = setting(None, "Normalisation of the levels: batch, layer or none.")
    dropout: float | None = setting(None, "Dropout rate of the levels.")
    hidden: int | tuple[int, ...] = setting(
        64, "Widths of the hidden layers of the head; one number, or one per layer."
    )
    head_norm: str | None = setting(None, "Normalisation of the head: batch, layer or none.")
    head_dropout: float | None = setting(None, "Dropout rate of the head.")
    scheme: Any = setting(None, "Composition scheme.", flags=())
    max_part: int | None = setting(None, "Size above which a part stops growing.")

    def widths(self) -> list[int]:
        """Channels of each level 0..levels."""
        if not isinstance(self.channels, int):
            return list(self.channels)
        return [max(1, round(self.channels * self.growth**level)) for level in range(self.levels + 1)]


@dataclass(frozen=True)
class Optimiser(_Checked):
    """The optimiser and its learning rate schedule.

    ``scaled`` is for optimisers of Adam's kind, which move all weights by the same amount: too much for contractions
    that sum many terms. A learning rate of None depends on the task (:meth:`Recipe.for_task`).
    """

    method: Literal["sgd", "adamw"] = setting("adamw", "Optimiser.", flags=("--optimiser",))
    learning_rate: float | None = setting(None, "Peak learning rate.")
    final_rate: float = setting(0.0, "Learning rate of the last step.")
    schedule: Literal["constant", "linear", "cosine"] = setting("cosine", "Learning rate decay after the warm-up.")
    warmup: float = setting(0.0, "Fraction of the steps in which the learning rate grows from near zero.")
    momentum: float = setting(0.9, "SGD momentum.")
    weight_decay: float = setting(0.0, "Weight decay.")
    scaled: bool = setting(False, "Scale the updates of each weight by its initial size.")
    clip: float | None = setting(None, "Maximum norm of the gradient.")


@dataclass(frozen=True)
class Training(_Checked):
    """Epochs, loss, early stopping and the size of the ensemble.

    The regression loss is that of targets scaled to mean 0 and deviation 1; classification has cross-entropy. Where
    ``least_steps`` asks for more epochs, patience grows with them; None depends on the task (:meth:`Recipe.for_task`).
    Where the learning rate falls to zero the last epoch is a good one to keep, and was not chosen by luck.
    """

    epochs: int = setting(100, "Passes over the training part.")
    least_steps: int | None = setting(None, "Minimum number of steps; a small data set has more epochs.")
    batch_size: int = setting(64, "Graphs per step.")
    loss: Loss = setting("mse", "Regression loss.")
    patience: int | None = setting(None, "Epochs without improvement after which training stops; none never stops.")
    keep: Literal["best", "last"] = setting("best", "Epoch whose weights are kept: best on validation, or last.")
    monitor: str = setting(
        "loss", "Validation metric to monitor: loss, mae, rmse, r2, accuracy, roc_auc, pr_auc or mcc."
    )
    members: int = setting(1, "Networks in the ensemble, trained from different seeds.")

    def passes(self, batches: int) -> tuple[int, int | None]:
        """Epochs and patience if an epoch has this number of batches.

        Example:
            >>> Training(epochs=30, least_steps=1500, patience=10).passes(batches=5)
            (300, 100)
        """
        more = max(1.0, (self.least_steps or 0) / (self.epochs * max(1, batches)))
        return round(self.epochs * more), None if self.patience is None else round(self.patience * more)


@dataclass(frozen=True)
class Recipe:
    """All settings of a network and its training; ``name`` is the recipe that it was derived from."""

    name: str = "default"
    features: Features = field(default_factory=Features)
    network: Network = field(default_factory=Network)
    optimiser: Optimiser = field(default_factory=Optimiser)
    training: Training = field(default_factory=Training)

    def override(self, **settings: Any) -> Recipe:
        """The recipe with some fields replaced, by their names or as ``section__field``.

        A number of epochs replaces the minimum number of steps too, and patience implies ``keep="best"``, unless those
        are given as well.
        """
        found = {_home(key): value for key, value in settings.items()}
        given = {name for _, name in found}
        if "epochs" in given and "least_steps" not in given:
            found["training", "least_steps"] = 0
        if found.get(("training", "patience")) is not None and "keep" not in given:
            found["training", "keep"] = "best"
        sections = {s: {name: v for (of, name), v in found.items() if of == s} for s in SECTIONS}
        parts = {s: changed(getattr(self, s), s, values) for s, values in sections.items()}
        return replace(self, **parts)

    def to_json(self) -> dict[str, Any]:
        """Plain data for a file, the inverse of :func:`from_dict`."""
        return to_dict(self)

    def get(self, key: str) -> Any:
        """The value of a field, by its name or as ``section__field``."""
        section, name = _home(key)
        return getattr(getattr(self, section), name)

    def for_task(self, *, classification: bool) -> Recipe:
        """The recipe with a value for each field that was left to the task.

        Example:
            >>> r = recipe("default", dropout=0.3).for_task(classification=True)
            >>> r.network.dropout, r.network.head_dropout
            (0.3, 0.5)
        """
        task = _CLASSES if classification else _NUMBERS
        return self.override(**{k: v for k, v in task.items() if self.get(k) is None})


# Classification overfits quickly, so that dropout helps; it hurts regression.
_CLASSES = {"learning_rate": 1e-3, "dropout": 0.1, "head_dropout": 0.5, "least_steps": 300}
_NUMBERS = {"learning_rate": 3e-3, "dropout": 0.0, "head_dropout": 0.0, "least_steps": 1500}

RECIPES: dict[str, Recipe] = {
    "paper": Recipe(
        name="paper",
        features=Features(molecules="element", vertices="histograms"),
        # The paper does not say how its last layers read the root. Chosen on validation, see docs/results.md.
        network=Network(
            channels=8, growth=2.0, contractions="paper10", dropout=0.0, head_norm="batch", head_dropout=0.0
        ),
        optimiser=Optimiser(method="sgd", learning_rate=1e-3, final_rate=1e-6, schedule="linear"),
        training=Training(epochs=100, least_steps=0, batch_size=64, keep="last"),
    ),
    # Chosen on validation parts of NCI1 and HCEP, see docs/results.md.
    "default": Recipe(
        name="default",
        features=Features(molecules="compact", vertices="auto"),
        network=Network(own=True, edge_features=True, norm="batch", hidden=(128, 128), head_norm="batch"),
        optimiser=Optimiser(final_rate=1e-5, warmup=0.05, weight_decay=1e-2, scaled=True, clip=5.0),
        training=Training(epochs=30, batch_size=64, keep="last"),
    ),
}
"""The recipes that have a name."""

SECTIONS = {"features": Features, "network": Network, "optimiser": Optimiser, "training": Training}
_HOME = {f.name: section for section, kind in SECTIONS.items() for f in fields(kind)}
Part = TypeVar("Part")


def recipe(name: str | Recipe = "default", /, **settings: Any) -> Recipe:
    """A recipe by name, with any of its fields replaced."""
    if isinstance(name, str):
        if name not in RECIPES:
            raise ConfigurationError(f"recipe {name!r} is not known; choose from {', '.join(RECIPES)}")
        name = RECIPES[name]
    return name.override(**settings)


def to_dict(r: Recipe) -> dict[str, Any]:
    """The recipe as plain data for JSON and TOML; fields that are None are left out."""

    def section(part: Any) -> dict[str, Any]:
        return {f.name: plain(v) for f in fields(part) if (v := getattr(part, f.name)) is not None}

    return {"name": r.name, **{name: section(getattr(r, name)) for name in SECTIONS}}


def from_dict(data: Mapping[str, Any]) -> Recipe:
    """The recipe that :func:`to_dict` wrote; fields that are left out have their defaults."""
    for section, values in data.items():
        if section != "name" and not (section in SECTIONS and isinstance(values, Mapping)):
            raise ConfigurationError(f"[{section}] is not a section of a recipe; those are {', '.join(SECTIONS)}")
    parts: dict[str, Any] = {s: changed(kind(), s, data.get(s, {})) for s, kind in SECTIONS.items()}
    return Recipe(str(data.get("name", "default")), **parts)


def changed(part: Part, section: str, values: Mapping[str, Any]) -> Part:
    """A section of settings with some fields replaced, by values as they are in Python or in a file."""
    known = [f.name for f in fields(part)]  # type: ignore[arg-type]
    given = {_known(f"{section}.{name}", known): value for name, value in values.items()}
    given = {k: unplain(v) if isinstance(v, list | tuple | Mapping) else v for k, v in given.items()}
    hints = get_type_hints(type(part))
    for name, value in given.items():
        if not _fits(value, hints[name]):
            raise ConfigurationError(f"[{section}] {name}={value!r}: it must be {_described(hints[name])}")
    try:
        return replace(part, **given)  # type: ignore[type-var]
    except TypeError as error:
        raise ConfigurationError(f"[{section}] {given}: {error}") from None


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of an annotated type: None, a choice, a finite number, a bool, a text, or a tuple of these."""
    kind, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if kind is Literal:
        return isinstance(value, str) and value in inner
    if kind is tuple:
        return isinstance(value, tuple) and all(_fits(v, inner[0]) for v in value)
    if inner:
        return any(_fits(value, one) for one in inner)
    if hint in (int, float):
        number: Any = Integral if hint is int else Real
        return isinstance(value, number) and not isinstance(value, bool) and abs(value) <= float_info.max
    return isinstance(value, hint)


def _described(hint: Any) -> str:
    kind, inner = get_origin(hint), get_args(hint)
    if kind is Literal:
        return f"one of {', '.join(inner)}"
    if kind is tuple:
        return f"a list of {inner[0].__name__}"
    return (
        " or ".join(map(_described, inner)) if inner else "none" if hint is type(None) else f"of type {hint.__name__}"
    )


def _home(key: str) -> tuple[str, str]:
    """The section and the field that a setting means: ``epochs``, ``training.epochs`` or ``training__epochs``."""
    key = key.replace("__", ".")
    section, _, _ = key.rpartition(".")
    name = _known(key, [f.name for f in fields(SECTIONS[section])] if section in SECTIONS else list(_HOME))
    if section and section not in SECTIONS:
        raise ConfigurationError(f"{key}: not a section of a recipe; those are {', '.join(SECTIONS)}")
    return section or _HOME[name], name


def _known(key: str, names: list[str]) -> str:
    """The field that ``section.field`` or ``field`` names; an error suggests the nearest if there is none."""
    name = key.rpartition(".")[2]
    if name not in names:
        near = get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]}?" if near else f"choose from {', '.join(names)}"
        raise ConfigurationError(f"{key}: there is no such setting; {hint}")
    return name

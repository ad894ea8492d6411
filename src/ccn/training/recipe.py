"""Recipes: all settings of a network and its training, as plain values.

A recipe is a frozen dataclass of a few frozen dataclasses, one per concern. Three have a name: ``paper`` is that of
Kondor et al. (2018) as far as they describe it, ``authors`` the network of the code that they released, ``default`` is
ours.

>>> r = recipe("default", order=1, epochs=5)
>>> r.network.order, r.training.epochs, r.optimiser.method
(1, 5, 'adamw')
>>> from_dict(to_dict(r)) == r
True
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from typing import Any, Literal, TypeVar

from ccn.errors import ConfigurationError
from ccn.features.scaling import Shape
from ccn.features.vertices import Histograms
from ccn.learning.plain import plain, unplain
from ccn.learning.settings import Features, Loss
from ccn.settings import Checked, setting

__all__ = [
    "LARGEST_ORDER", "PAPER_WIDTHS", "RECIPES", "SECTIONS", "Features", "Network", "Optimiser", "Recipe", "Training",
    "changed", "from_dict", "recipe", "to_dict",
]  # fmt: skip

Auto = Literal["auto"]
"""What the task needs (:meth:`Recipe.for_task`); None is off."""
PAPER_WIDTHS = (4, 8, 16)
"""Channels of level 0, to choose from on validation: the paper does not give its number."""
LARGEST_ORDER = 5
"""The contractions of higher orders are too many to enumerate."""
_MOST_LEVELS, _MOST_CHANNELS = 1000, 100_000


@dataclass(frozen=True)
class Network(Checked):
    """The options of :class:`ccn.CCN` that do not follow from the data.

    ``scheme`` is the name of a composition scheme (:mod:`ccn.schemes.named`) or a function from a graph to its scheme,
    by default that of closed neighbourhoods, with parts limited by ``max_part``.
    """

    order: int | tuple[int, ...] = setting(
        2, "Order of the tensors; one number, or one per level: 2,2,1.", least=0, below=LARGEST_ORDER + 1
    )
    levels: int = setting(2, "Number of levels.", least=0, below=_MOST_LEVELS + 1)
    channels: int | tuple[int, ...] = setting(
        16, "Channels; one number, or one per level from level 0.", least=1, below=_MOST_CHANNELS + 1
    )
    growth: float = setting(1.0, "Ratio of the channels of a level to those of the level below.", above=0)
    contractions: Any = setting(
        "distinct", "Contractions: distinct, all, paper10, authors18, complete, or a list: 'abx,xy->ab axx,by->ab'."
    )
    adjacency: bool | Literal["both"] = setting(True, "Product with the adjacency matrix: true, false or both.")
    own: bool = setting(False, "Add the previous activation of each vertex.")
    diagonal: bool = setting(False, "Put ones on the diagonal of the adjacency matrix.")
    edge_features: bool = setting(False, "Use edge features as further channels of the adjacency matrix.")
    nonlinearity: str | Callable[..., Any] = setting("relu", "Nonlinearity of the levels.")
    activate_embedding: bool = setting(False, "Apply the nonlinearity to the embedded vertex features too.")
    norm: Literal["batch", "layer"] | None = setting(None, "Normalisation of the levels: batch, layer or none.")
    dropout: float | Auto | None = setting(
        "auto", "Dropout rate of the levels; auto depends on the task.", least=0, below=1
    )
    readout: Literal["invariants", "sums", "root", "vertex", "edge"] = setting(
        "invariants",
        "What the head reads: invariants of all parts; sums, the nonlinearity of the sum of each part; root, the rule "
        "itself over the whole graph; vertex or edge, for targets of vertices or edges.",
    )
    readout_levels: Literal["all", "last"] = setting("all", "Levels that the head reads: all, or last.")
    hidden: int | tuple[int, ...] = setting(
        64, "Widths of the hidden layers of the head; one number, or one per layer.", least=1, below=_MOST_CHANNELS + 1
    )
    head_norm: Literal["batch", "layer"] | None = setting(None, "Normalisation of the head: batch, layer or none.")
    head_dropout: float | Auto | None = setting(
        "auto", "Dropout rate of the head; auto depends on the task.", least=0, below=1
    )
    graph_features: bool = setting(
        False,
        "Feed features of the molecule as a whole to the head: descriptors and extra columns, else all there are.",
    )
    scheme: Any = setting(
        None,
        "Parts: neighbourhoods, open, field, balls, edges, rings, functional-groups, or your own: "
        "package.module:function.",
    )
    relations: tuple[str, ...] = setting(
        (), "Relations between parts without an anchor, such as rings, that weigh them: shared, bonds.", commas=True
    )
    rank: int | None = setting(
        None, "Rank of mixing that factors over contractions and channels, for wide networks; none does not.", least=1
    )
    max_part: int | None = setting(None, "Size above which a part stops growing.", least=1)

    def widths(self) -> list[int]:
        """Channels of each level 0..levels."""
        if not isinstance(self.channels, int):
            return list(self.channels)
        if self.levels * math.log(self.growth) > math.log(_MOST_CHANNELS / self.channels) + 1e-9:
            raise ConfigurationError(
                f"growth={self.growth:g}: {self.channels} channels grow to more than {_MOST_CHANNELS:,} at level "
                f"{self.levels}; give fewer channels or levels, or less growth"
            )
        return [max(1, round(self.channels * self.growth**level)) for level in range(self.levels + 1)]


@dataclass(frozen=True)
class Optimiser(Checked):
    """The optimiser and its learning rate schedule.

    ``scaled`` is for optimisers of Adam's kind, which move all weights by the same amount: too much for contractions
    that sum many terms.
    """

    method: Literal["sgd", "adamw"] = setting("adamw", "Optimiser.", flags=("--optimiser",))
    learning_rate: float | Auto = setting("auto", "Peak learning rate; auto depends on the task.", above=0)
    final_rate: float = setting(0.0, "Learning rate of the last step.", least=0)
    schedule: Literal["constant", "linear", "cosine"] = setting("cosine", "Learning rate decay after the warm-up.")
    warmup: float = setting(
        0.0, "Fraction of the steps in which the learning rate grows from near zero.", least=0, below=1
    )
    momentum: float = setting(0.9, "SGD momentum.", least=0, below=1)
    weight_decay: float = setting(0.0, "Weight decay.", least=0)
    scaled: bool = setting(False, "Scale the updates of each weight by its initial size.")
    contraction_penalty: float = setting(
        0.0, "Weight of a penalty by which contractions that are not needed fade: a group lasso over them.", least=0
    )
    clip: float | None = setting(None, "Maximum norm of the gradient.", above=0)


@dataclass(frozen=True)
class Training(Checked):
    """Epochs, loss, early stopping and the size of the ensemble.

    The regression loss is that of targets scaled to mean 0 and deviation 1, after they were bent where
    ``target_scale`` says so (:mod:`ccn.features.scaling`); classification has cross-entropy. Where ``least_steps`` asks
    for more epochs, patience grows with them. Where the learning rate falls to zero the last epoch is a good one to
    keep, and was not chosen by luck; but a run that does not come to it, or whose validation loss rose
    (:func:`ccn.training.loop.rose`), keeps its best.
    """

    epochs: int = setting(100, "Passes over the training part.", least=1)
    least_steps: int | Auto | None = setting(
        "auto",
        "Minimum number of steps, for which a small data set has more epochs; auto depends on the task.",
        least=0,
    )
    batch_size: int = setting(64, "Graphs per step.", least=1)
    loss: Loss = setting("mse", "Regression loss.")
    target_scale: Shape = setting(
        "linear",
        "Scale on which numbers are fitted: linear, log, power, rank, or auto, by the tails of each target; the method "
        "auto chooses it for each target by cross-validation.",
    )
    patience: int | None = setting(
        None, "Epochs without improvement after which training stops; none never stops.", least=1
    )
    keep: Literal["best", "last"] = setting("best", "Epoch whose weights are kept: best on validation, or last.")
    rising: Literal["stop", "ignore"] = setting(
        "stop", "Stop and keep the best epoch if the validation loss rises for long above that of a constant."
    )
    monitor: str = setting(
        "loss", "Validation metric to monitor: loss, mae, rmse, r2, accuracy, roc_auc, pr_auc or mcc."
    )
    members: int = setting(1, "Networks in the ensemble, trained from different seeds.", least=1, below=1001)

    def passes(self, batches: int) -> tuple[int, int | None]:
        """Epochs and patience if an epoch has this number of batches.

        Example:
            >>> Training(epochs=30, least_steps=1500, patience=10).passes(batches=5)
            (300, 100)
        """
        assert self.least_steps != "auto", "Recipe.for_task has a number for the task"
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
        given: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
        for key, value in settings.items():
            section, name = _home(key)
            given[section][name] = value
        network, training = given["network"], given["training"]
        if isinstance(network.get("scheme"), str):
            from ccn.schemes.named import resolve_scheme

            network["scheme"] = resolve_scheme(network["scheme"])
        if "epochs" in training:
            training.setdefault("least_steps", 0)
        if training.get("patience") is not None:
            training.setdefault("keep", "best")
        return replace(self, **{s: changed(getattr(self, s), s, values) for s, values in given.items()})

    def to_json(self) -> dict[str, Any]:
        """Plain data for a file, the inverse of :func:`from_dict`."""
        return to_dict(self)

    def reads(self) -> Features:
        """The features, with marks of functional groups where the scheme needs them."""
        f = self.features
        if self.network.scheme != "functional-groups" or "groups" in f.molecules.split("+"):
            return f
        return replace(f, molecules=f"{f.molecules}+groups")

    def get(self, key: str) -> Any:
        """The value of a field, by its name or as ``section__field``."""
        section, name = _home(key)
        return getattr(getattr(self, section), name)

    def for_task(self, *, classification: bool) -> Recipe:
        """The recipe with a value for each field that is ``auto``.

        Example:
            >>> r = recipe("default", dropout=0.3).for_task(classification=True)
            >>> r.network.dropout, r.network.head_dropout
            (0.3, 0.5)
        """
        task = _CLASSES if classification else _NUMBERS
        return self.override(**{k: v for k, v in task.items() if self.get(k) == "auto"})


# What ``auto`` is. Classification overfits quickly, so that dropout helps; it hurts regression.
_CLASSES = {"learning_rate": 1e-3, "dropout": 0.1, "head_dropout": 0.5, "least_steps": 300}
_NUMBERS = {"learning_rate": 3e-3, "dropout": 0.0, "head_dropout": 0.0, "least_steps": 1500}

_SGD = Optimiser(method="sgd", learning_rate=1e-3, final_rate=1e-6, schedule="linear")
_HUNDRED_EPOCHS = Training(epochs=100, least_steps=0, batch_size=64, keep="last")
RECIPES: dict[str, Recipe] = {
    "paper": Recipe(
        name="paper",
        features=Features(molecules="element", vertices="histograms"),
        # The paper does not say how its last layers read the root. Chosen on validation, see docs/results.md.
        network=Network(
            channels=8, growth=2.0, contractions="paper10", dropout=0.0, head_norm="batch", head_dropout=0.0
        ),
        optimiser=_SGD,
        training=_HUNDRED_EPOCHS,
    ),
    # As in the released code (GraphFlow, its class SMP_2D_ver6): all levels have one width there. The embedding and the
    # last layer have a bias here and none there; the optimiser and what it needs are as above.
    "authors": Recipe(
        name="authors",
        features=Features(molecules="element", vertices=Histograms(counts=True)),
        network=Network(
            channels=8,
            contractions="paper10",
            diagonal=True,
            scheme="field",
            nonlinearity="leaky_relu",
            activate_embedding=True,
            readout="sums",
            readout_levels="last",
            hidden=(),
            dropout=0.0,
            head_dropout=0.0,
        ),
        optimiser=_SGD,
        training=_HUNDRED_EPOCHS,
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
_OBJECTS = ("contractions", "scheme", "vertices")  # settings that may be values of the package
_HOME = {f.name: section for section, kind in SECTIONS.items() for f in fields(kind)}
Part = TypeVar("Part")


def recipe(name: str | Recipe = "default", /, **settings: Any) -> Recipe:
    """A recipe by name, with any of its fields replaced.

    Example:
        >>> recipe("paper").optimiser.method, recipe("default", order=1).network.order
        ('sgd', 1)
    """
    if isinstance(name, str):
        if name not in RECIPES:
            raise ConfigurationError(f"recipe {name!r} is not known; choose from {', '.join(RECIPES)}")
        name = RECIPES[name]
    return name.override(**settings)


def to_dict(r: Recipe) -> dict[str, Any]:
    """The recipe as plain data for JSON; fields that are None, and that by default, are left out."""

    def section(part: Any) -> dict[str, Any]:
        values = ((f, getattr(part, f.name)) for f in fields(part))
        return {f.name: plain(v) for f, v in values if v is not None or f.default is not None}

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
    for name, value in given.items():
        if not isinstance(value, list | tuple) and not (isinstance(value, Mapping) and name in _OBJECTS):
            continue
        try:
            given[name] = unplain(value)
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigurationError(f"{name}={value!r}: {error}") from None
    return replace(part, **given)  # type: ignore[type-var]


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

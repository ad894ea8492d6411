"""Networks as methods: any module from a batch to outputs, trained like the package's own."""

from __future__ import annotations

import shutil
import time
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from ccn.errors import FileError
from ccn.graphs.pack import Pack
from ccn.learning.metrics import better
from ccn.learning.task import Floats, Task, make_task
from ccn.methods.fitting import split
from ccn.methods.method import Baseline, Given
from ccn.training.batches import Batches
from ccn.training.checkpoint import Progress
from ccn.training.examples import Examples
from ccn.training.loop import train
from ccn.training.machine import Machine
from ccn.training.outputs import outputs
from ccn.training.recipe import Features, Recipe, plain, recipe, unplain

__all__ = ["NetworkMethod"]

_TOGETHER = 128  # graphs of a batch of predictions
_MANY = 2_000  # training rows above which a tenth of them, within the bounds that follow, is drawn to choose with
_FEW = (1_000, 10_000)


@dataclass(eq=False, repr=False, kw_only=True)
class NetworkMethod(Baseline):
    """A network with a recipe of its own.

    Args:
        settings: fields of the recipe in place of the method's own, such as ``{"epochs": 10}``.
        choices: such settings that are tried one after another, the best on the validation part being kept; by default
            the method's own. Of more than 2,000 training rows a tenth is drawn to choose with, at least 1,000 and at
            most 10,000, and what is chosen then learns from all.
        validation_fraction: share of the training rows kept to stop and choose by where no validation part is given.
        time_limit: seconds of training, after which the best so far is kept.
        device: ``cpu``, ``cuda``, ``mps`` or ``auto``.
        folder: keeps checkpoints; the same fit, begun again after it was killed, goes on from them.

    Attributes:
        networks_: the trained modules, the members of an ensemble where the recipe has several.
        history_: the figures of the epochs of the first.
        earlier_: seconds of training that were done before this fit.

    """

    settings: Mapping[str, Any] | None = None
    choices: tuple[Mapping[str, Any], ...] | None = None
    validation_fraction: float = 0.1
    time_limit: float | None = None
    device: str = "cpu"
    folder: str | None = None

    RECIPE: ClassVar[Recipe]
    CHOICES: ClassVar[tuple[Mapping[str, Any], ...]] = ({},)

    def resolved_recipe(self) -> Recipe:
        """The recipe with all that this method overrides."""
        return recipe(self._recipe(), **(self.settings or {})).for_task(classification=self._classifies)

    def _recipe(self) -> Recipe:
        return self.RECIPE

    def own_choices(self) -> tuple[Mapping[str, Any], ...]:
        """What the method tries of itself."""
        return self.CHOICES

    def _tried(self) -> list[Mapping[str, Any]]:
        """The settings to choose from; what was set is not chosen, unless the choices were given too."""
        if self.choices is not None:
            return list(self.choices)
        left = [{k: v for k, v in c.items() if k not in (self.settings or {})} for c in self.own_choices()]
        return [c for i, c in enumerate(left) if c not in left[:i]]

    def feature_definition(self) -> Features:
        return self._features(self.resolved_recipe().features)

    @abstractmethod
    def _options(self, graphs: Pack, task: Task, chosen: Recipe) -> dict[str, Any]:
        """The arguments of the network for graphs as :meth:`_prepared` gives them."""

    @abstractmethod
    def _make(self, options: dict[str, Any]) -> nn.Module:
        """The network."""

    def _fit_preparation(self, graphs: Pack) -> None:
        """Learn what :meth:`_prepared` needs to know of the training graphs."""

    def _prepared(self, graphs: Pack) -> Pack:
        """The graphs as the network reads them."""
        return graphs

    def _learn(self, given: Given) -> None:
        base = self.resolved_recipe()
        rows = np.arange(given.train)
        held = np.arange(given.train, len(given.graphs))
        known = np.flatnonzero(~np.isnan(given.targets).all(axis=1))
        rows, held = np.intersect1d(rows, known), np.intersect1d(held, known)
        if not len(held):
            drawn = split(
                given.targets[rows],
                self.validation_fraction,
                self.random_state,
                classification=self._classifies,
                calibration=False,
            )
            rows, held = rows[drawn.train], rows[drawn.validation]
        self.task_ = make_task(
            given.targets[rows],
            classification=self._classifies,
            names=self._names,
            classes=self.classes_.tolist() if self._classifies else (),
            loss=base.training.loss,
        )
        graphs = self.inputs_.vertices(given.graphs)
        self._fit_preparation(graphs.select(rows))
        examples = Examples(self._prepared(graphs), given.targets, rows, held)
        tried = list(enumerate(self._tried()))
        self.earlier_, left = 0.0, self.time_limit
        if len(tried) > 1 and len(rows) > _MANY:
            count = int(np.clip(len(rows) // 10, *_FEW))
            few = np.sort(np.random.default_rng(self.random_state).choice(rows, count, replace=False))
            left = None if left is None else left / 2
            tried = self._best(replace(examples, train=few), tried, left, "-few")
        self._best(examples, tried, left)

    def _best(
        self, examples: Examples, tried: list[tuple[int, Mapping[str, Any]]], left: float | None, suffix: str = ""
    ) -> list[tuple[int, Mapping[str, Any]]]:
        """Train each of the numbered settings, keep the networks of the best, and tell which it is."""
        best: float | None = None
        found = tried[:1]
        for at, (i, settings) in enumerate(tried):
            chosen = self.resolved_recipe().override(**settings)
            options = self._options(examples.graphs, self.task_, chosen)
            members = chosen.training.members
            trained = []
            for member in range(members):
                seed = self._seed(member)
                net = self._seeded(options, seed)
                runs = (len(tried) - at) * members - member
                began = time.monotonic()
                place = None if self.folder is None else Path(self.folder) / f"{i}-{member}{suffix}"
                progress = self._train(net, examples, chosen, seed, place, None if left is None else left / runs)
                self.earlier_ += max(0.0, progress.seconds - (time.monotonic() - began))
                left = None if left is None else max(0.0, left - progress.seconds)
                trained.append((net.eval(), progress))
            first = trained[0][1]
            if at == 0 or (first.best is not None and better(chosen.training.monitor, first.best, best)):
                best, found = first.best, [(i, settings)]
                self.networks_, self.options_, self.recipe_ = tuple(net for net, _ in trained), options, chosen
                self.chosen_, self.history_ = [dict(settings)], first.history
        return found

    def _train(
        self, net: nn.Module, examples: Examples, chosen: Recipe, seed: int, folder: Path | None, limit: float | None
    ) -> Progress:
        run = partial(
            train,
            net,
            self.task_,
            examples,
            chosen,
            seed=seed,
            machine=Machine(device=self.device),
            folder=folder,
            resume=folder is not None,
            time_limit=limit,
        )
        try:
            return run()
        except FileError:
            if folder is None or not folder.exists():
                raise
            shutil.rmtree(folder)  # left from other data or settings
            return run()

    def _seed(self, member: int) -> int:
        """The seed of a member; that of the first is the method's own."""
        own = self.random_state
        return int(np.random.SeedSequence([own, member]).generate_state(1)[0]) if member else own

    def _seeded(self, options: dict[str, Any], seed: int) -> nn.Module:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return self._make(options)

    def answers(self, graphs: Pack) -> Floats:
        ready = self._prepared(graphs)
        batches = Batches(ready, np.arange(len(ready)), _TOGETHER)
        found: Floats = np.mean([self.task_.decode(outputs(net, batches)) for net in self.networks_], axis=0)
        return found

    def _infer(self, graphs: Pack) -> Floats:
        found = self.answers(self.inputs_.vertices(graphs))
        if self.task_.kind == "multilabel":
            return (found > 0.5).astype(np.float64)
        return found.argmax(axis=1, keepdims=True).astype(np.float64) if self._classifies else found

    def _preparation(self) -> dict[str, Any]:
        """What :meth:`_fit_preparation` learned, as plain data."""
        return {}

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        data = {
            "options": plain(self.options_),
            "task": plain(self.task_.to_dict()),
            "chosen": plain(self.chosen_),
            "preparation": self._preparation(),
            "members": len(self.networks_),
        }
        weights = {f"{i}.{key}": v for i, net in enumerate(self.networks_) for key, v in net.state_dict().items()}
        return weights, data

    def _restore(self, tensors: Mapping[str, Tensor], data: Mapping[str, Any]) -> None:
        self.options_, self.task_ = unplain(data["options"]), Task.from_dict(data["task"])
        self.chosen_ = list(data["chosen"])
        for key, value in data["preparation"].items():
            setattr(self, key, value)
        made = []
        for i in range(data["members"]):
            net = self._seeded(self.options_, self._seed(i))
            own = {key.partition(".")[2]: v for key, v in tensors.items() if key.startswith(f"{i}.")}
            net.load_state_dict(own)
            made.append(net.eval())
        self.networks_ = tuple(made)

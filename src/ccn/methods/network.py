"""Networks as methods: any module from a batch to outputs, trained by the one loop, alone or as an ensemble.

The data that flow: examples with graphs as read -> vertex features of the inputs -> :meth:`NetworkMethod.prepare`
(patches for PSCN, nothing for others) -> batches -> outputs -> the task's values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

from ccn.errors import ConfigurationError, FileError
from ccn.features.scaling import Scale
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import ranges, starts
from ccn.layers.normalisation import RobustScale
from ccn.learning.examples import Examples
from ccn.learning.fitted import Fitted, State, under
from ccn.learning.inputs import Inputs
from ccn.learning.metrics import better, check_monitor
from ccn.learning.model import Model
from ccn.learning.plain import plain, unplain
from ccn.learning.seen import Seen
from ccn.learning.settings import Features
from ccn.learning.task import Floats, Per, Task
from ccn.methods.method import Method, Outcome
from ccn.training.batches import Batches, outputs
from ccn.training.checkpoint import Progress, need_tensorboard
from ccn.training.execution import Execution
from ccn.training.loop import train
from ccn.training.recipe import LARGEST_ORDER, SECTIONS, Recipe, from_dict, recipe, to_dict

__all__ = ["FittedNetworks", "NetworkMethod", "seeded"]

_PREDICTED_TOGETHER = 256  # graphs of a batch of predictions
_SCALED_BY = 10_000  # training rows, about, of which quartiles are taken


@dataclass
class FittedNetworks(Fitted):
    """An ensemble of one or more networks.

    Attributes:
        networks: the trained modules.
        options: the arguments that each was made with.
        prepared: what :meth:`NetworkMethod.prepare` needs to know of the training graphs, as plain data.
        recipe: how they were trained; None in files of 0.1 that did not say.
    """

    networks: tuple[nn.Module, ...]
    options: Mapping[str, Any]
    prepared: Mapping[str, Any] = field(default_factory=dict)
    recipe: Recipe | None = None

    module: ClassVar[Callable[..., nn.Module]]
    """Makes a network from ``options``."""
    head: ClassVar[str] = "head"
    """The name of its last layers, from the features of a graph to the outputs."""

    @staticmethod
    def prepare(graphs: Pack, prepared: Mapping[str, Any]) -> Pack:
        """The graphs as the networks read them, from those with vertex features."""
        return graphs

    def ready(self, graphs: Pack) -> Pack:
        """The graphs as the networks read them, from those as the inputs read them."""
        made = self.prepare(self.inputs.vertices(graphs), self.prepared)
        return made if self.reads_edges else made.without_edge_features()

    def predict(self, graphs: Pack) -> Floats:
        return np.stack([self.task.decode(out) for out in self._run(graphs, self.networks, self.task.per)])

    @classmethod
    def predict_all(cls, several: Sequence[Self], graphs: Pack) -> Floats:
        first = several[0]
        if any((f.inputs, f.options, f.prepared) != (first.inputs, first.options, first.prepared) for f in several):
            return super().predict_all(several, graphs)
        every = replace(first, networks=tuple(net for f in several for net in f.networks))
        tasks = [f.task for f in several for _ in f.networks]  # their scales differ
        found = every._run(graphs, every.networks, first.task.per)  # so that the structure of a batch is made once
        return np.stack([task.decode(out) for task, out in zip(tasks, found, strict=True)])

    def _run(self, graphs: Pack, read: Sequence[Callable[..., Tensor]], per: Per = "graph") -> list[Tensor]:
        """What each of the functions of a batch gives for every graph, or for all of its vertices or edges."""
        # Graphs of similar size together: the time of a batch goes with its largest parts.
        rising = np.argsort(graphs.sizes, kind="stable")
        batches = Batches(self.ready(graphs.select(rising)), np.arange(len(graphs)), _PREDICTED_TOGETHER, per=per)
        back, counts = np.argsort(rising, kind="stable"), batches.counts
        order = torch.from_numpy(ranges(starts(counts)[:-1][back], counts[back]))
        found = (outputs(net, batches, function) for net, function in zip(self.networks, read, strict=True))
        return [out[order.to(out.device)] for out in found]

    def first_of(self, task: Task) -> Self:
        """The same networks with their first outputs alone, which are those of the task."""
        options, made = {**self.options, "out_features": task.outputs}, []
        for net in self.networks:
            cut = seeded(type(self).module, options, 0).to(next(net.parameters()))
            shapes = {k: v.shape for k, v in cut.state_dict().items()}
            weights = net.state_dict().items()
            cut.load_state_dict({k: v if v.shape == shapes[k] else v[: task.outputs] for k, v in weights})
            made.append(cut.eval())
        return replace(self, task=task, networks=tuple(made), options=options)

    @property
    def device(self) -> str:
        return next(self.networks[0].parameters()).device.type

    def to(self, device: torch.device) -> None:
        for net in self.networks:
            net.to(device)

    def state(self) -> State:
        data = {
            "options": plain(dict(self.options)),
            "members": len(self.networks),
            "prepared": dict(self.prepared),
            "recipe": None if self.recipe is None else to_dict(self.recipe),
        }
        return {f"member{i}.{k}": v for i, net in enumerate(self.networks) for k, v in net.state_dict().items()}, data

    @classmethod
    def from_state(cls, tensors: Mapping[str, Tensor], data: Mapping[str, Any], task: Task, inputs: Inputs) -> Self:
        options = unplain(data["options"])
        members = {int(name.partition(".")[0].removeprefix("member")) for name in tensors}
        if data["members"] != len(members) or members != set(range(len(members))) or not members:
            raise FileError(f"{data['members']} networks are announced, the file has {len(members)}; do not use it")
        _check_sizes([data["options"], data["prepared"]], tensors)
        made = []
        for i in sorted(members):
            weights = under(f"member{i}.", tensors)
            kinds = {v.dtype for v in weights.values() if v.is_floating_point()}
            net = seeded(cls.module, options, 0).to(kinds.pop())
            net.load_state_dict(weights)
            made.append(net.eval())
        how = data.get("recipe")
        return cls(task, inputs, tuple(made), options, data["prepared"], None if how is None else from_dict(how))


_MOST_COLUMNS = 1 << 20  # of which a network reads some, whose number is compared with its weights


def _check_sizes(options: Any, tensors: Mapping[str, Tensor], name: str = "options") -> None:
    """An error unless the sizes in the options can be those of the tensors, before a network is made from them.

    Widths, channels and features are dimensions of some weight, and every level has weights of its own.
    """
    if isinstance(options, Mapping):
        for key, value in options.items():
            _check_sizes(value, tensors, str(key))
    elif isinstance(options, list | tuple):
        for value in options:
            _check_sizes(value, tensors, name)
    elif isinstance(options, int | float):
        largest = {"order": LARGEST_ORDER, "levels": len(tensors), "graph_columns": _MOST_COLUMNS}.get(name)
        if largest is None:
            largest = max(64, *(size for t in tensors.values() for size in t.shape))
        if not -largest <= options <= largest:
            raise FileError(f"{name} is {options}, which does not fit the weights in the file; do not use it")


def seeded(module: Callable[..., nn.Module], options: Mapping[str, Any], seed: int) -> nn.Module:
    """A network with weights drawn from the seed; the random numbers of the process are left as they were."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return module(**options)


@dataclass(frozen=True, kw_only=True)
class NetworkMethod(Method):
    """A network with a recipe.

    Attributes:
        recipe: in place of the method's own.
        settings: fields of the recipe in place of its own, such as ``{"epochs": 10}``.
        choices: such settings that are tried one after another, the best on the validation part being kept; by default
            the method's own, without those that ``settings`` fixes.
        many: training rows above which the choice is made with a tenth of them, within the bounds ``few``; the chosen
            settings then learn from all rows.
        auxiliary: whether auxiliary columns are learned together with the targets; by default where the validation part
            says that it helps.
        start: a model of such networks whose weights the members begin with. Its inputs and its architecture are taken
            over; the head is new if the targets are others.
    """

    recipe: Recipe | None = None
    settings: Mapping[str, Any] | None = None
    choices: tuple[Mapping[str, Any], ...] | None = None
    many: int = 2_000
    few: tuple[int, int] = (1_000, 10_000)
    auxiliary: bool | None = None
    start: Model | None = None

    fitted: ClassVar[type[FittedNetworks]]
    validates = True
    resumes = True
    bounds = True
    joint = True
    own_recipe: ClassVar[Recipe]
    own_choices: ClassVar[tuple[Mapping[str, Any], ...]] = ({},)
    arguments: ClassVar[tuple[str, ...]] = ()
    """The fields that are arguments of the network."""

    def options(self, graphs: Pack, task: Task, chosen: Recipe, prepared: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of the network for graphs as it reads them."""
        given = {name: getattr(self, name) for name in self.arguments}
        return {"in_features": graphs.width, "out_features": task.outputs, **given}

    def preparation(self, graphs: Pack, inputs: Inputs) -> dict[str, Any]:
        """What :meth:`FittedNetworks.prepare` needs to know of the training graphs, as plain data."""
        return {}

    def _prepared(self, graphs: Pack, inputs: Inputs) -> Mapping[str, Any]:
        before = self.started()
        return self.preparation(graphs, inputs) if before is None else before.prepared

    def _options(self, graphs: Pack, task: Task, chosen: Recipe, prepared: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of the network, or those of the networks to start from."""
        before = self.started()
        if before is None:
            return self.options(graphs, task, chosen, prepared)
        return {**before.options, "out_features": task.outputs}

    def base_recipe(self) -> Recipe:
        return self.own_recipe if self.recipe is None else self.recipe

    def usual_choices(self) -> tuple[Mapping[str, Any], ...]:
        """What the method tries where nothing is given."""
        return self.own_choices

    def resolved(self) -> Recipe:
        """The recipe with all settings, and a value for each field that was left to the task."""
        return recipe(self.base_recipe(), **(self.settings or {})).for_task(classification=self.classification)

    def recipe_fields(self) -> Mapping[str, Collection[str]]:
        return {name: [f.name for f in fields(SECTIONS[name])] for name in ("features", "optimiser", "training")}

    def chosen_fields(self) -> set[str]:
        return {key for settings in self.usual_choices() for key in settings}

    def with_recipe(self, recipe: Recipe, given: Collection[str] = ()) -> Self:
        settings = {key: recipe.get(key) for key in self.chosen_fields() & set(given)}
        return replace(self, recipe=recipe, settings=settings)

    def started(self) -> FittedNetworks | None:
        """The networks to begin with, if any."""
        if self.start is None:
            return None
        if self.start.method != self.name or not isinstance(self.start.fitted, self.fitted):
            raise ConfigurationError(f"method {self.name}: a model of the method {self.start.method} to start from")
        return self.start.fitted

    def fit_inputs(self, examples: Examples, graphs: Pack) -> Inputs:
        before = self.started()
        if before is None:
            return super().fit_inputs(examples, graphs)
        for name in ("molecules", "hydrogens", "standardise", "vertex_names", "edge_names", "columns"):
            old, new = getattr(before.inputs, name), getattr(examples.inputs, name)
            if old != new:
                raise ConfigurationError(
                    f"the model to start from was trained on other inputs: {name} {old!r}, not {new!r}; read them alike"
                )
        return replace(before.inputs, max_atoms=examples.inputs.max_atoms)

    def seen_before(self) -> Seen | None:
        return None if self.start is None else self.start.seen

    def settings_given(self) -> dict[str, Any]:
        return {k: v for k, v in super().settings_given().items() if k != "start"}  # its weights are not kept

    def _task(self, examples: Examples) -> Task:
        """What is learned; on the scale of the model to start from, if its targets are the same."""
        task, before = examples.task(loss=self.resolved().training.loss), self.started()
        if before is None or not task.like(before.task):
            return task
        new = self.scaling()
        old = new if before.recipe is None else before.recipe.training.target_scale
        if new != old:
            raise ConfigurationError(
                f"target_scale={new!r}: the model to start from has {old!r} for the same targets; leave it out"
            )
        return replace(task, scale=before.task.scale)

    def _begin(self, net: nn.Module, task: Task, member: int) -> None:
        """Give a network the weights to start from; those of its head stay as drawn if the targets are others."""
        before = self.started()
        if before is None:
            return
        alike, weights = task.like(before.task), before.networks[member % len(before.networks)].state_dict()
        drawn = net.state_dict()
        given = {k: v for k, v in weights.items() if alike or not k.startswith(f"{before.head}.")}
        for name, value in given.items():
            if name not in drawn or drawn[name].shape != value.shape:
                size = "none" if name not in drawn else tuple(drawn[name].shape)
                raise ConfigurationError(
                    f"the model to start from has another architecture: {name} {tuple(value.shape)}, here {size}"
                )
        net.load_state_dict({**drawn, **given})

    def tried(self) -> list[Mapping[str, Any]]:
        """The settings to choose from; what was set is not chosen, unless the choices were given too.

        Nothing is chosen where networks begin with the weights of others.
        """
        if self.start is not None:
            return [{}]
        if self.choices is not None:
            return list(self.choices)
        left = [{k: v for k, v in c.items() if k not in (self.settings or {})} for c in self.usual_choices()]
        return [c for i, c in enumerate(left) if c not in left[:i]]

    def reads(self) -> Features:
        return self._with_features(self.resolved().features)

    def scaling(self) -> Scale:
        return self.target_scale or self.resolved().training.target_scale

    def member_seed(self, member: int) -> int:
        """The seed of a member; that of the first is the method's."""
        return int(np.random.SeedSequence([self.seed, member]).generate_state(1)[0]) if member else self.seed

    def check(self, examples: Examples, inputs: Inputs, execution: Execution) -> None:
        chosen = self.resolved()
        task = self._task(examples)
        check_monitor(task, chosen.training.monitor)
        execution.machine.check()
        if execution.tensorboard:
            need_tensorboard()
        one = inputs.vertices(examples.graphs.select(examples.train[:1]))
        prepared = self._prepared(one, inputs)
        options = self._options(self.fitted.prepare(one, prepared), task, chosen, prepared)
        net = seeded(self.fitted.module, options, self.seed)  # an error now if a setting or a package is wrong
        self._begin(net, task, 0)

    def learn(self, examples: Examples, inputs: Inputs, execution: Execution) -> Outcome:
        targets_alone = examples.without_auxiliary()
        compared = self.auxiliary is None and len(examples.validation) > 0  # else nothing says that it helps
        if examples.auxiliary is None or not (self.auxiliary or compared):
            return self._learn(targets_alone, inputs, execution)
        limit = None if execution.time_limit is None else execution.time_limit / (1 + compared)
        joint = self._learn(examples.jointly(), inputs, execution.part("auxiliary", limit))
        assert isinstance(joint.fitted, FittedNetworks)
        joint = replace(joint, fitted=joint.fitted.first_of(self._task(examples)))
        if not compared:
            return joint
        alone = self._learn(targets_alone, inputs, replace(execution, time_limit=limit))
        monitor = self.resolved().training.monitor
        with_them, without = (
            o.history[0][o.members[0]["best_epoch"] - 1].get(f"validation_{monitor}", np.nan) for o in (joint, alone)
        )
        helps = better(monitor, with_them, without)
        execution.say(
            f"auxiliary {', '.join(examples.auxiliary_names)}: {'learned too' if helps else 'left out'}; "
            f"validation {monitor.replace('_', ' ')} {with_them:.4g} with, {without:.4g} without"
        )
        best, other = (joint, alone) if helps else (alone, joint)
        chosen = [{**settings, "auxiliary": helps} for settings in best.chosen]
        return replace(best, chosen=chosen, earlier=best.earlier + other.earlier)

    def _learn(self, examples: Examples, inputs: Inputs, execution: Execution) -> Outcome:
        graphs = inputs.vertices(examples.graphs)
        prepared = self._prepared(graphs.select(examples.train), inputs)
        task = self._task(examples)
        ready = replace(examples, graphs=self.fitted.prepare(graphs, prepared), inputs=inputs)
        tried, limit = list(enumerate(self.tried())), execution.time_limit
        rows, earlier = examples.train, 0.0
        if len(tried) > 1 and len(rows) > self.many:
            count = int(np.clip(len(rows) // 10, *self.few))
            few = rows[np.sort(np.random.default_rng(self.seed).choice(len(rows), count, replace=False))]
            limit = None if limit is None else limit / 2
            execution = replace(execution, time_limit=limit)
            drawn = self._best(ready.with_train(few), task, prepared, tried, execution, "-few")
            tried, earlier = [tried[drawn.number]], drawn.earlier
        best = self._best(ready, task, prepared, tried, execution)
        ended = [{"epochs": p.epoch, "best_epoch": p.best_epoch + 1, "ended": p.ended} for p in best.progress]
        history = [p.history for p in best.progress]
        return Outcome(best.fitted, [dict(best.settings)], ended, history, earlier + best.earlier)

    def _best(
        self,
        examples: Examples,
        task: Task,
        prepared: Mapping[str, Any],
        tried: Sequence[tuple[int, Mapping[str, Any]]],
        execution: Execution,
        suffix: str = "",
    ) -> _Ensemble:
        """Train an ensemble with each of the numbered settings; the best by its first member on validation."""
        best: _Ensemble | None = None
        left = execution.time_limit
        several = len(self.tried()) > 1
        earlier = 0.0
        for at, (number, settings) in enumerate(tried):
            chosen = self.resolved().override(**settings)
            options = self._options(examples.graphs, task, chosen, prepared)
            members = chosen.training.members
            networks, ended, read = [], [], examples
            for member in range(members):
                seed = self.member_seed(member)
                net = seeded(self.fitted.module, options, seed)
                if not self.fitted(task, examples.inputs, (net,), options).reads_edges:
                    read = replace(examples, graphs=examples.graphs.without_edge_features())
                _fit_scales(net, examples)
                self._begin(net, task, member)
                folder = f"choice{number}-member{member}{suffix}" if several else f"member{member}"
                share = None if left is None else left / ((len(tried) - at) * members - member)
                names = [f"{key} {value}" for key, value in settings.items()] if several else []
                names += [f"member {member + 1} of {members}"] if members > 1 else []
                part, title = execution.part(folder, share), ", ".join(names) or "training"
                progress = train(net, task, read, chosen, seed=seed, execution=part, title=title)
                earlier += progress.earlier
                left = None if left is None else max(0.0, left - progress.seconds)
                networks.append(net.eval())
                ended.append(progress)
            value = ended[0].best
            if best is None or (value is not None and better(chosen.training.monitor, value, best.progress[0].best)):
                fitted = self.fitted(task, examples.inputs, tuple(networks), options, prepared, chosen)
                best = _Ensemble(number, settings, fitted, ended)
        assert best is not None
        return replace(best, earlier=earlier)


def _fit_scales(net: nn.Module, examples: Examples) -> None:
    """Set the statistics of features of graphs as a whole, where the network reads them, to those of training rows."""
    for module in net.modules():
        if isinstance(module, RobustScale):
            rows = examples.train[:: 1 + len(examples.train) // _SCALED_BY]
            module.fit(examples.graphs.select(rows).graph_features)


@dataclass(frozen=True)
class _Ensemble:
    """Networks trained with one choice of settings."""

    number: int
    settings: Mapping[str, Any]
    fitted: FittedNetworks
    progress: Sequence[Progress]
    earlier: float = 0.0

"""A learning task: the kind of the targets, their loss, and the way from outputs back to values.

A network has one output per target (regression, binary, multi-label) or per class (multi-class). Targets are float64
with NaN where missing, a class is its number. A loss is a sum over the known targets together with the sum of their
weights, so that their mean does not depend on how they are distributed over batches and processes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from ccn.errors import ConfigurationError
from ccn.features.scaling import Scale, TargetScale
from ccn.learning.settings import Loss

__all__ = ["Floats", "Kind", "Per", "Task", "make_task"]

Kind = Literal["regression", "binary", "multiclass", "multilabel"]
Per = Literal["graph", "vertex", "edge"]
"""What has a target, and a row of the predictions."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Task:
    """One learning task, as plain values.

    Attributes:
        targets: the names of the targets.
        classes: the classes that the numbers of a class target stand for.
        scale: of the training targets of a regression.
        loss: of a regression.
        class_weights: one per class; of a multi-label task one per label, for its positives.
        per: what has targets: graphs, their vertices, or their edges. Where "graphs" is a size below, it is of these.

    Example:
        >>> task = Task("binary", ("active",), ("no", "yes"))
        >>> task.kind, task.classes
        ('binary', ('no', 'yes'))
    """

    kind: Kind
    targets: tuple[str, ...]
    classes: tuple[Any, ...] = ()
    scale: TargetScale | None = None
    loss: Loss = "mse"
    class_weights: tuple[float, ...] = ()
    per: Per = "graph"

    @property
    def outputs(self) -> int:
        """Number of outputs of the network."""
        return len(self.classes) if self.kind == "multiclass" else len(self.targets)

    def like(self, other: Task) -> bool:
        """Whether the predictions of two tasks mean the same, but for the scale on which they were fitted."""
        return (self.kind, self.targets, self.classes) == (other.kind, other.targets, other.classes)

    def encode(self, targets: Floats) -> Floats:
        """Targets as the loss reads them: those of a regression scaled by the training part's statistics."""
        return targets if self.scale is None else self.scale.scale(targets)

    def restore(self, values: Floats) -> Floats:
        """The inverse of :meth:`encode`."""
        return values if self.scale is None else self.scale.restore(values)

    def encode_bounds(self, bounds: Floats) -> Floats:
        """Bounds (rows, targets, 2) as the loss reads them; infinite ones stay so."""
        finite = np.where(np.isinf(bounds), np.nan, bounds)
        return np.where(np.isinf(bounds), bounds, np.stack([self.encode(finite[..., end]) for end in (0, 1)], axis=-1))

    def losses(
        self, outputs: Tensor, y: Tensor, weight: Tensor | None = None, bounds: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The sum of the weighted losses of all known targets, and the sum of their weights.

        Args:
            outputs: (graphs, outputs).
            y: (graphs, targets), encoded; NaN where missing.
            weight: (graphs,), by default 1.
            bounds: (graphs, targets, 2) of the missing targets of a regression that are censored, encoded; NaN where
                there is none.
        """
        if bounds is not None:  # the target is the nearest value allowed: no loss where the bound is met
            low, high = bounds.unbind(-1)
            y = torch.where(low.isnan(), y, outputs.detach().to(y).clamp(low, high))
        there = ~y.isnan()
        known = torch.where(there, y, torch.zeros_like(y)).to(outputs)
        w = there.to(outputs) if weight is None else there * weight.to(outputs)[:, None]
        if self.kind == "multiclass":
            each = F.cross_entropy(outputs, known[:, 0].long(), reduction="none")[:, None]
        elif self.kind == "regression":
            each = _REGRESSION[self.loss](outputs, known, reduction="none")
        else:
            each = F.binary_cross_entropy_with_logits(outputs, known, reduction="none")
        if self.class_weights:
            of = torch.tensor(self.class_weights).to(outputs)
            if self.kind == "multilabel":
                w = w * torch.where(known > 0.5, of, torch.ones_like(of))
            else:
                w = w * of[known.long()]
        return (each * w).sum(), w.sum()

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a file."""
        lists = {k: list(getattr(self, k)) for k in ("targets", "classes", "class_weights")}
        made = {"kind": self.kind, "loss": self.loss, "scale": self.scale and self.scale.to_json(), **lists}
        return made if self.per == "graph" else {**made, "per": self.per}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Task:
        """What :meth:`to_dict` wrote."""
        if data["kind"] not in get_args(Kind) or data["loss"] not in _REGRESSION:
            raise ConfigurationError(f"a task of the kind {data['kind']!r} with the loss {data['loss']!r} is not known")
        tuples = {k: tuple(data[k]) for k in ("targets", "classes", "class_weights")}
        kind, targets, classes = data["kind"], tuples["targets"], tuples["classes"]
        one = kind in ("binary", "multiclass")
        if not targets or (one and len(targets) > 1) or not all(isinstance(name, str) for name in targets):
            raise ConfigurationError(f"a {kind} task with the targets {targets} is not known")
        if any(isinstance(c, dict | list) for c in classes) or (kind != "regression" and len(classes) < 2):
            raise ConfigurationError(f"a task with the classes {classes} is not known")
        scale = None if data["scale"] is None else TargetScale.from_json(data["scale"])
        per = data.get("per", "graph")
        if per not in get_args(Per):
            raise ConfigurationError(f"a task with targets per {per!r} is not known")
        return cls(kind, loss=data["loss"], scale=scale, per=per, **tuples)

    def decode(self, outputs: Tensor) -> Floats:
        """From outputs to values in the targets' units, or to probabilities.

        Shape (graphs, targets) for regression and multi-label (of the positive label), (graphs, classes) else.
        """
        o = outputs.detach().cpu().double()
        if self.scale is not None:
            return self.scale.restore(o.numpy())
        if self.kind == "multiclass":
            return np.asarray(o.softmax(dim=1).numpy())
        p: Floats = o.sigmoid().numpy()
        return np.concatenate([1 - p, p], axis=1) if self.kind == "binary" else p


_REGRESSION = {"mse": F.mse_loss, "mae": F.l1_loss, "huber": F.smooth_l1_loss}


def make_task(
    targets: Floats,
    *,
    classification: bool,
    names: Sequence[str],
    classes: Sequence[Any] = (),
    loss: Loss = "mse",
    scale: Scale = "linear",
    class_weight: str | Mapping[Any, float] | None = None,
) -> Task:
    """The task of the training part's targets, (graphs, targets).

    ``scale`` says how the targets of a regression are bent before they are scaled (:class:`ccn.features.TargetScale`).
    ``class_weight="balanced"`` weights classes by their inverse frequency; a mapping gives a weight per class.
    """
    count = (~np.isnan(targets)).sum(0)
    if (count == 0).any():
        name = names[int(np.argmin(count))]
        raise ConfigurationError(f"target {name!r} has no value in the training part; leave it out or add some")
    if not classification:
        if class_weight is not None:
            raise ConfigurationError("class_weight is for classification; give sample weights instead")
        return Task("regression", tuple(names), scale=TargetScale.fit(targets, scale), loss=loss)
    kind: Kind = "multilabel" if targets.shape[1] > 1 else "binary" if len(classes) <= 2 else "multiclass"
    task = Task(kind, tuple(names), classes=tuple(classes))
    return replace(task, class_weights=_class_weights(task, targets, class_weight))


def _class_weights(task: Task, targets: Floats, choice: str | Mapping[Any, float] | None) -> tuple[float, ...]:
    if choice is None:
        return ()
    if isinstance(choice, str) and choice != "balanced":
        raise ConfigurationError(f"class_weight={choice!r}: choose 'balanced' or give a weight per class")
    keys = task.targets if task.kind == "multilabel" else task.classes
    if isinstance(choice, Mapping):
        unknown = [k for k in choice if k not in keys]
        if unknown:
            raise ConfigurationError(f"class_weight names {unknown[0]!r}; the classes are {list(keys)}")
        return tuple(float(choice.get(k, 1.0)) for k in keys)
    if task.kind == "multilabel":
        positive, there = np.nansum(targets, axis=0), (~np.isnan(targets)).sum(0)
        return tuple(((there - positive) / np.maximum(positive, 1)).tolist())
    number = targets[~np.isnan(targets)].astype(int)
    count = np.bincount(number, minlength=len(keys))
    return tuple((len(number) / (len(keys) * np.maximum(count, 1))).tolist())

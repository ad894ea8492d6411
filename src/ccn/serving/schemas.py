"""What requests and answers look like; the description of the API (OpenAPI) is made of these."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "AnyRequest", "ExplainRequest", "Explained", "Explanations", "Health", "JobState", "ModelInfo", "Molecule", "Near",
    "NearRequest", "Nearest", "Neighbours", "PredictRequest", "Predicted", "Predictions", "Problem",
]  # fmt: skip

_LONGEST = 20_000  # characters of a SMILES; atoms are limited beside
Smiles = Annotated[str, Field(max_length=_LONGEST, examples=["CC(=O)Nc1ccc(O)cc1"])]
Number = Annotated[float, Field(allow_inf_nan=False)]
Cell = float | str | None


class _Strict(BaseModel):
    """Unknown fields are errors, so that a misspelled option is not ignored."""

    model_config = ConfigDict(extra="forbid")


class Molecule(_Strict):
    """A molecule with a name, which is only handed back, and what the model reads beside it."""

    smiles: Smiles
    name: Annotated[str, Field(max_length=500)] = ""
    columns: Annotated[dict[str, Number | None], Field(max_length=1000)] = {}


class AnyRequest(_Strict):
    """What every request says: which molecules, and of which model."""

    model: Annotated[str | None, Field(description="Its name; not needed where only one is served.")] = None
    molecules: Annotated[list[Smiles | Molecule], Field(min_length=1, description="SMILES, or molecules with names.")]
    drawings: Annotated[bool, Field(description="Add drawings as SVG.")] = False

    def options(self) -> dict[str, Any]:
        """The other fields: how to answer."""
        return self.model_dump(exclude={"model", "molecules"})


class PredictRequest(AnyRequest):
    """What to predict."""

    interval: Annotated[
        float | None, Field(gt=0, lt=1, description="Coverage of prediction intervals, such as 0.9.")
    ] = None
    domain: Annotated[bool, Field(description="Add how far it is from what the model has learned from.")] = False


class ExplainRequest(AnyRequest):
    """What to explain."""

    target: Annotated[str | None, Field(description="The target, by its name; by default the first.")] = None
    label: Annotated[str | None, Field(description="The class, of more than two; by default the predicted one.")] = None
    pairs: Annotated[bool, Field(description="Also pairs of atoms, of networks of order 2.")] = False
    fields: Annotated[bool, Field(description="Also the receptive field of each atom, of networks.")] = False


class NearRequest(AnyRequest):
    """How many neighbours."""

    count: Annotated[int, Field(ge=1, le=20)] = 3


class _Row(BaseModel):
    smiles: str
    name: str
    reason: Annotated[str | None, Field(description="Why there is no answer.")]
    where: Annotated[
        tuple[int, int] | None, Field(description="First character that is wrong, and the one behind the last.")
    ]


class Predicted(_Row):
    """A prediction; the columns of ``ccn predict``."""

    values: dict[str, Cell] | None
    drawing: str | None = None


class Explained(_Row):
    """The terms of a sum: baseline + atoms + bonds + whole + residual = prediction, on a scale."""

    target: str | None = None
    scale: str | None = None
    value: float | None = None
    prediction: float | None = None
    baseline: float | None = None
    residual: float | None = None
    whole: dict[str, float] | None = None
    symbols: list[str] | None = None
    atoms: list[float] | None = None
    bonds: list[float] | None = None
    ends: list[tuple[int, int]] | None = None
    equation: str | None = None
    pairs: Annotated[list[list[float]] | None, Field(description="Of molecules of up to 120 atoms.")] = None
    fields: list[list[list[int]]] | None = None
    others: list[dict[str, Any]] | None = None
    drawing: str | None = None
    places: list[tuple[float, float]] | None = None
    full: str | None = None
    legend: str | None = None
    arcs: str | None = None


class Near(BaseModel):
    """A training molecule."""

    smiles: str
    name: str
    similarity: float | None
    morgan: float | None
    measured: dict[str, Cell]
    drawing: str | None = None


class Nearest(_Row):
    """The nearest training molecules of one."""

    nearest: list[Near]
    domain: dict[str, Cell]


class _Answers(BaseModel):
    model: str
    version: Annotated[str, Field(description="The first digits of the SHA-256 of the model.")]


class Predictions(_Answers):
    """Predictions in the order of the molecules."""

    rows: list[Predicted]


class Explanations(_Answers):
    """Explanations in the order of the molecules."""

    rows: list[Explained]


class Neighbours(_Answers):
    """Neighbours in the order of the molecules."""

    rows: list[Nearest]


class ModelInfo(BaseModel):
    """A model and what can be asked of it."""

    name: str
    version: str
    loaded: float
    fault: Annotated[str, Field(description="Why a newer file is not used, or an empty text.")]
    method: str
    kind: str
    targets: list[str]
    units: list[str]
    classes: list[str]
    columns: Annotated[list[str], Field(description="What it reads beside the molecule.")]
    intervals: Annotated[float, Field(description="The largest usual coverage of its intervals; 0 without any.")]
    domain: bool
    nearest: bool
    explains: bool
    pairs: bool
    fields: bool
    metrics: dict[str, dict[str, Any]]
    rows: dict[str, int]


class JobState(BaseModel):
    """An upload and how far it is."""

    id: str
    model: str
    state: Literal["waiting", "running", "done", "failed", "cancelled"]
    created: float
    rows: int
    done: int
    without: int
    error: str
    output: str


class Health(BaseModel):
    """Whether the server can answer: ``ok``, or ``degraded`` while a worker starts again or a new file is refused."""

    status: Literal["ok", "degraded"]
    ccn: str
    workers: int
    waiting: int
    models: dict[str, str]


class Problem(BaseModel):
    """Why a request was refused."""

    detail: str

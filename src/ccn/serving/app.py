"""The application: the API, its description, and the page."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, Response
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from ccn.errors import CCNError
from ccn.files import json_safe
from ccn.serving.catalogue import Catalogue, Entry
from ccn.serving.guard import Guard
from ccn.serving.jobs import Input, Job, Jobs, OutputKind, TooLargeError
from ccn.serving.limits import Limits
from ccn.serving.metrics import Metrics
from ccn.serving.pool import BusyError, Pool
from ccn.serving.schemas import (
    AnyRequest,
    ExplainRequest,
    Explanations,
    Health,
    JobState,
    ModelInfo,
    NearRequest,
    Neighbours,
    Predictions,
    PredictRequest,
    Problem,
)
from ccn.version import __version__

__all__ = ["Setup", "application"]

_PAGE = Path(__file__).parent / "page"
_EDITOR = Path(__file__).parent / "editor"
_KINDS = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".html": "text/html"}
_TYPES = {
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "sdf": "chemical/x-mdl-sdfile",
    "html": "application/octet-stream",  # saved, not shown: it has scripts, and this server runs none but its own
}
_DETAIL = 300  # characters of a message about a request
_BEARER = Depends(HTTPBearer(auto_error=False, description="Needed where the server was started with a token."))


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What a server serves and how.

    Attributes:
        models: files of models or folders of runs, by name.
        workers: processes that answer.
        limits: of requests.
        token: that requests need; None for none.
        loopback: whether only this machine is to reach the server.
        training: whether the nearest training molecules are shown where they are at hand.
        jobs: the folder of uploads; a temporary one by default.
    """

    models: Mapping[str, Path]
    workers: int = 2
    limits: Limits = field(default_factory=Limits)
    token: str | None = None
    loopback: bool = True
    training: bool = True
    jobs: Path | None = None


@dataclass(frozen=True)
class _State:
    """What the handlers of requests share, from when the server has started."""

    limits: Limits
    metrics: Metrics
    catalogue: Catalogue
    pool: Pool
    jobs: Jobs


def _state(request: Request) -> _State:
    found: _State = request.app.state.ccn
    return found


_Served = Annotated[_State, Depends(_state)]


class _Json(JSONResponse):
    """JSON of ASCII characters alone, which holds whatever text a client sent, and null for what is no number."""

    def render(self, content: Any) -> bytes:
        return json.dumps(json_safe(content), allow_nan=False, separators=(",", ":")).encode()


@cache
def _files() -> dict[str, tuple[bytes, str]]:
    """The files of the page and of the editor by their paths; no other path reaches a file."""
    places = [("static", _PAGE), ("editor", _EDITOR)]
    return {
        f"/{name}/{path.name}": (path.read_bytes(), _KINDS[path.suffix])
        for name, folder in places
        if folder.is_dir()
        for path in sorted(folder.iterdir())
        if path.suffix in _KINDS
    }


def application(setup: Setup) -> FastAPI:
    """The application; its models are read when it starts."""
    metrics = Metrics()
    app = FastAPI(
        title="ccn serve",
        version=__version__,
        description="Predictions and explanations by trained models, as `ccn predict` and `ccn explain` give them.",
        docs_url=None,  # which would load scripts from elsewhere
        redoc_url=None,
        lifespan=lambda app: _life(app, setup, metrics),
        default_response_class=_Json,
        exception_handlers={CCNError: _refused, RequestValidationError: _invalid, HTTPException: _stopped},
    )
    app.add_middleware(Guard, limits=setup.limits, metrics=metrics, token=setup.token, loopback=setup.loopback)
    for router in (_answers, _uploads, _server, _page):
        app.include_router(router)
    return app


@asynccontextmanager
async def _life(app: FastAPI, setup: Setup, metrics: Metrics) -> AsyncIterator[None]:
    with tempfile.TemporaryDirectory(prefix="ccn-serve-") as folder:
        pool = Pool(setup.workers, setup.limits, metrics)
        catalogue = Catalogue(pool, Path(folder) / "models", metrics, setup.training)
        at = Path(folder) / "jobs" if setup.jobs is None else setup.jobs
        at.mkdir(mode=0o700, parents=True, exist_ok=True)
        jobs = Jobs(at, setup.limits, metrics, pool.path)
        tasks: list[asyncio.Task[None]] = []
        try:
            await pool.start()
            for name, path in setup.models.items():
                await catalogue.load(name, path)
            app.state.ccn = _State(setup.limits, metrics, catalogue, pool, jobs)
            tasks = [asyncio.create_task(catalogue.watch()), asyncio.create_task(jobs.work())]
            yield
        except CCNError as error:
            app.state.failure = error
            raise
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await pool.close()


# Errors

_CODES: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "The body is not JSON."},
    401: {"model": Problem, "description": "The token is missing or wrong."},
    403: {"model": Problem, "description": "The request came from another site's page, or for another host."},
    404: {"model": Problem, "description": "There is no such model or upload."},
    408: {"model": Problem, "description": "The body did not arrive in time."},
    413: {"model": Problem, "description": "There are more bytes or rows than the server allows."},
    422: {"model": Problem, "description": "It cannot be answered; the detail says why."},
    429: {"model": Problem, "description": "There are too many requests; send it again later."},
}
_STATUS: Sequence[tuple[type[CCNError], int]] = ((BusyError, 429), (TooLargeError, 413), (CCNError, 422))


def _some_codes(*codes: int) -> dict[int | str, dict[str, Any]]:
    return {code: _CODES[code] for code in codes}


def _problem(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    more = {"Retry-After": "1"} if status == 429 else {}
    return _Json({"detail": detail}, status, headers={**(headers or {}), **more})


async def _refused(request: Request, error: CCNError) -> Response:
    return _problem(next(status for kind, status in _STATUS if isinstance(error, kind)), str(error))


async def _invalid(request: Request, error: RequestValidationError) -> Response:
    found = error.errors()[0]
    where = ".".join(str(part) for part in found["loc"])  # without what was given: it may be large, or no JSON
    return _problem(422, f"{where}: {found['msg']}"[:_DETAIL])


async def _stopped(request: Request, error: HTTPException) -> Response:
    return _problem(error.status_code, str(error.detail), error.headers)


# Answers

_answers = APIRouter(responses=_CODES, dependencies=[_BEARER], tags=["answers"])


def _entry(state: _State, name: str | None) -> Entry:
    entries = state.catalogue.entries
    if name is None and len(entries) == 1:
        return next(iter(entries.values()))
    if name not in entries:
        raise HTTPException(404, f"there is no such model; this server has {', '.join(entries)}")
    return entries[name]


async def _answer(state: _State, kind: str, asked: AnyRequest, most: int, **options: Any) -> Response:
    """The answer to a request, with the ``options`` of this kind, for up to so many molecules."""
    entry, given = _entry(state, asked.model), asked.molecules
    if len(given) > most:
        raise TooLargeError(f"{len(given):,} molecules, at most {most:,} are answered; send a table to /jobs")
    rows = [{"smiles": one} if isinstance(one, str) else one.model_dump() for one in given]
    for i, row in enumerate(rows):
        if unknown := [name for name in row.get("columns", {}) if name not in entry.about["columns"]]:
            raise HTTPException(422, f"molecule {i}: {entry.name} does not read the column {unknown[0][:100]!r}")
    found = await state.pool.ask(kind, entry.name, rows, **options, **asked.options())
    return _Json({"model": entry.name, "version": found.version[:12], "rows": found.rows})


@_answers.post("/predict", response_model=Predictions)
async def predict(asked: PredictRequest, state: _Served) -> Response:
    """Predict for molecules, as `ccn predict`; a molecule that cannot be read has a reason instead."""
    return await _answer(state, "predict", asked, state.limits.rows)


@_answers.post("/explain", response_model=Explanations)
async def explain(asked: ExplainRequest, state: _Served) -> Response:
    """Explain predictions, as `ccn explain`: what each atom and bond contributes."""
    return await _answer(state, "explain", asked, state.limits.explained, neighbours=0)


@_answers.post("/nearest", response_model=Neighbours)
async def nearest(asked: NearRequest, state: _Served) -> Response:
    """The nearest training molecules with their measured values, where they are at hand."""
    return await _answer(state, "nearest", asked, state.limits.rows)


# Uploads

_uploads = APIRouter(prefix="/jobs", dependencies=[_BEARER], tags=["uploads"])
_UPLOAD_CODES = _some_codes(401, 403, 404, 422)
_BODY = {"required": True, "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}
_TABLE = {"description": "The table.", "content": {media: {} for media in sorted({*_TYPES.values()})}}


async def _pieces(request: Request) -> AsyncIterator[bytes]:
    try:
        async for piece in request.stream():
            yield piece
    except ClientDisconnect:
        raise HTTPException(400, "the upload broke off") from None


@_uploads.post("", response_model=JobState, status_code=202, responses=_CODES, openapi_extra={"requestBody": _BODY})
async def upload(
    request: Request,
    state: _Served,
    model: Annotated[str | None, Query(description="Its name.")] = None,
    kind: Annotated[Input, Query(description="Of the table.")] = "csv",
    output: Annotated[OutputKind, Query(description="Of the answer.")] = "csv",
    smiles_column: Annotated[str | None, Query(max_length=500, description="By default it is detected.")] = None,
    interval: Annotated[float | None, Query(gt=0, lt=1)] = None,
    domain: bool = False,
    spreadsheet_safe: Annotated[bool, Query(description="No cell of .csv and .tsv is run as a formula.")] = True,
) -> Job:
    """Upload a table as the body; it is answered in the background, as by `ccn predict`."""
    entry = _entry(state, model)
    safe = spreadsheet_safe and output in ("csv", "tsv")
    options = {"smiles_column": smiles_column, "interval": interval, "domain": domain, "spreadsheet_safe": safe}
    if interval is not None and not entry.about["intervals"]:
        raise HTTPException(422, f"{entry.name} has no prediction intervals; leave out interval")
    if domain and not entry.about["domain"]:
        raise HTTPException(422, f"{entry.name} does not know what it has learned from; leave out domain")
    return await state.jobs.add(entry.name, kind, output, _pieces(request), options)


def _found(job: Job | None) -> Job:
    if job is None:
        raise HTTPException(404, "there is no such upload, or it is not done")
    return job


@_uploads.get("/{name}", response_model=JobState, responses=_UPLOAD_CODES)
async def job(name: str, state: _Served) -> Job:
    """How far an upload is."""
    return _found(state.jobs.find(name))


@_uploads.get("/{name}/result", response_class=Response, responses={**_UPLOAD_CODES, 200: _TABLE})
async def result(name: str, state: _Served) -> Response:
    """The table with predictions, when it is done."""
    path = state.jobs.result(name)
    found = _found(None if path is None else state.jobs.find(name))
    return FileResponse(str(path), media_type=_TYPES[found.output], filename=f"predictions.{found.output}")


@_uploads.delete("/{name}", status_code=204, response_class=Response, responses=_UPLOAD_CODES)
async def cancel(name: str, state: _Served) -> None:
    """End an upload and remove all of it from the server."""
    _found(state.jobs.find(name))
    await state.jobs.cancel(name)


# The server itself

_server = APIRouter(tags=["server"])


@_server.get("/models", response_model=list[ModelInfo], dependencies=[_BEARER], responses=_some_codes(401, 403))
async def models(state: _Served) -> Response:
    """The models and what can be asked of them."""
    shown = ("name", "version", "loaded", "fault")
    entries = state.catalogue.entries.values()
    return _Json([{**{name: getattr(e, name) for name in shown}, **e.about} for e in entries])


@_server.get("/health", response_model=Health, responses=_some_codes(403))
async def health(state: _Served) -> Response:
    """Whether the server can answer."""
    pool, entries = state.pool, state.catalogue.entries.values()
    well = pool.alive == pool.count and not any(e.fault for e in entries)
    found = {"status": "ok" if well else "degraded", "ccn": __version__, "workers": pool.alive}
    return _Json({**found, "waiting": len(pool.waiting), "models": {e.name: e.version for e in entries}})


@_server.get("/metrics", response_class=PlainTextResponse, dependencies=[_BEARER], responses=_some_codes(401, 403))
async def counters(state: _Served) -> Response:
    """Counters in the format of Prometheus."""
    pool = state.pool
    text = state.metrics.text({"ccn_workers": pool.alive, "ccn_waiting_requests": len(pool.waiting)})
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


_page = APIRouter(include_in_schema=False)


@_page.get("/")
async def page() -> Response:
    files = _files()
    text = files["/static/index.html"][0]
    if "/editor/openchemlib.js" in files:
        text = text.replace(b'id="draw" hidden', b'id="draw"')
    return HTMLResponse(text)


@_page.api_route("/{folder}/{name}", methods=["GET", "HEAD"])
async def file(folder: str, name: str) -> Response:
    found = _files().get(f"/{folder}/{name}")
    if found is None:
        raise HTTPException(404, "there is no such file")
    return Response(found[0], media_type=found[1], headers={"Cache-Control": "no-cache"})

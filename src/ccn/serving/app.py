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

from fastapi import Depends, FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, Response
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from ccn.errors import CCNError
from ccn.files import json_safe
from ccn.serving.catalogue import Catalogue, Entry
from ccn.serving.guard import Guard
from ccn.serving.jobs import Input, Jobs, OutputKind, TooLargeError
from ccn.serving.limits import Limits
from ccn.serving.metrics import Metrics
from ccn.serving.pool import Answered, BusyError, Pool
from ccn.serving.schemas import (
    ExplainRequest,
    Explanations,
    Health,
    JobState,
    ModelInfo,
    Molecule,
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


@dataclass
class _State:
    catalogue: Catalogue
    pool: Pool
    jobs: Jobs


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
    metrics, limits = Metrics(), setup.limits
    app = FastAPI(
        title="ccn serve",
        version=__version__,
        description="Predictions and explanations by trained models, as `ccn predict` and `ccn explain` give them.",
        docs_url=None,  # which would load scripts from elsewhere
        redoc_url=None,
        lifespan=lambda app: _life(app, setup, metrics),
        default_response_class=_Json,
    )
    app.add_middleware(
        Guard,
        limits=limits,
        metrics=metrics,
        token=setup.token,
        loopback=setup.loopback,
    )
    _add_problems(app)
    _add_answers(app, limits)
    _add_jobs(app, limits)
    _add_state(app, metrics)
    _add_page(app)
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
            app.state.ccn = _State(catalogue, pool, jobs)
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


def _state(request: Request) -> _State:
    found: _State = request.app.state.ccn
    return found


# Errors

_Codes = dict[int | str, dict[str, Any]]
_CODES: _Codes = {
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


def _problem(status: int, detail: str, **headers: str) -> Response:
    more = {"Retry-After": "1"} if status == 429 else {}
    return _Json({"detail": detail}, status, headers={**headers, **more})


def _add_problems(app: FastAPI) -> None:
    @app.exception_handler(CCNError)
    async def refused(request: Request, error: CCNError) -> Response:
        return _problem(next(status for kind, status in _STATUS if isinstance(error, kind)), str(error))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        found = error.errors()[0]
        where = ".".join(str(part) for part in found["loc"])  # without what was given: it may be large, or no JSON
        return _problem(422, f"{where}: {found['msg']}"[:_DETAIL])

    @app.exception_handler(HTTPException)
    async def stopped(request: Request, error: HTTPException) -> Response:
        return _problem(error.status_code, str(error.detail), **(error.headers or {}))


# Answers


def _entry(request: Request, name: str | None) -> Entry:
    entries = _state(request).catalogue.entries
    if name is None and len(entries) == 1:
        return next(iter(entries.values()))
    if name not in entries:
        raise HTTPException(404, f"there is no such model; this server has {', '.join(entries)}")
    return entries[name]


def _molecules(given: Sequence[str | Molecule], entry: Entry, most: int) -> list[dict[str, Any]]:
    if len(given) > most:
        raise TooLargeError(f"{len(given):,} molecules, at most {most:,} are answered; send a table to /jobs")
    rows = [{"smiles": one} if isinstance(one, str) else one.model_dump() for one in given]
    for i, row in enumerate(rows):
        if unknown := [name for name in row.get("columns", {}) if name not in entry.about["columns"]]:
            raise HTTPException(422, f"molecule {i}: {entry.name} does not read the column {unknown[0][:100]!r}")
    return rows


def _answer(entry: Entry, found: Answered) -> Response:
    return _Json({"model": entry.name, "version": found.version[:12], "rows": found.rows})


def _add_answers(app: FastAPI, limits: Limits) -> None:
    how: dict[str, Any] = {"responses": _CODES, "dependencies": [_BEARER], "tags": ["answers"]}

    @app.post("/predict", response_model=Predictions, **how)
    async def predict(asked: PredictRequest, request: Request) -> Response:
        """Predict for molecules, as `ccn predict`; a molecule that cannot be read has a reason instead."""
        entry = _entry(request, asked.model)
        rows = _molecules(asked.molecules, entry, limits.rows)
        options = {"interval": asked.interval, "domain": asked.domain, "drawings": asked.drawings}
        return _answer(entry, await _state(request).pool.ask("predict", entry.name, rows, **options))

    @app.post("/explain", response_model=Explanations, **how)
    async def explain(asked: ExplainRequest, request: Request) -> Response:
        """Explain predictions, as `ccn explain`: what each atom and bond contributes."""
        entry = _entry(request, asked.model)
        rows = _molecules(asked.molecules, entry, limits.explained)
        options = {name: getattr(asked, name) for name in ("target", "label", "pairs", "fields", "drawings")}
        return _answer(entry, await _state(request).pool.ask("explain", entry.name, rows, **options, neighbours=0))

    @app.post("/nearest", response_model=Neighbours, **how)
    async def nearest(asked: NearRequest, request: Request) -> Response:
        """The nearest training molecules with their measured values, where they are at hand."""
        entry = _entry(request, asked.model)
        rows = _molecules(asked.molecules, entry, limits.rows)
        options = {"count": asked.count, "drawings": asked.drawings}
        return _answer(entry, await _state(request).pool.ask("nearest", entry.name, rows, **options))


# Uploads


async def _pieces(request: Request) -> AsyncIterator[bytes]:
    try:
        async for piece in request.stream():
            yield piece
    except ClientDisconnect:
        raise HTTPException(400, "the upload broke off") from None


def _add_jobs(app: FastAPI, limits: Limits) -> None:
    codes: _Codes = {code: _CODES[code] for code in (401, 403, 404, 422)}
    how: dict[str, Any] = {"dependencies": [_BEARER], "tags": ["uploads"]}
    body = {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }

    @app.post(
        "/jobs", response_model=JobState, status_code=202, responses=_CODES, openapi_extra={"requestBody": body}, **how
    )
    async def upload(
        request: Request,
        model: Annotated[str | None, Query(description="Its name.")] = None,
        kind: Annotated[Input, Query(description="Of the table.")] = "csv",
        output: Annotated[OutputKind, Query(description="Of the answer.")] = "csv",
        smiles_column: Annotated[str | None, Query(max_length=500, description="By default it is detected.")] = None,
        interval: Annotated[float | None, Query(gt=0, lt=1)] = None,
        domain: bool = False,
        spreadsheet_safe: Annotated[bool, Query(description="No cell of .csv and .tsv is run as a formula.")] = True,
    ) -> Response:
        """Upload a table as the body; it is answered in the background, as by `ccn predict`."""
        entry = _entry(request, model)
        safe = spreadsheet_safe and output in ("csv", "tsv")
        options = {"smiles_column": smiles_column, "interval": interval, "domain": domain, "spreadsheet_safe": safe}
        if interval is not None and not entry.about["intervals"]:
            raise HTTPException(422, f"{entry.name} has no prediction intervals; leave out interval")
        if domain and not entry.about["domain"]:
            raise HTTPException(422, f"{entry.name} does not know what it has learned from; leave out domain")
        job = await _state(request).jobs.add(entry.name, kind, output, _pieces(request), options)
        return _Json(job.public(), 202)

    @app.get("/jobs/{name}", response_model=JobState, responses=codes, **how)
    async def job(name: str, request: Request) -> Response:
        """How far an upload is."""
        found = _state(request).jobs.find(name)
        return _missing() if found is None else _Json(found.public())

    @app.get(
        "/jobs/{name}/result",
        response_class=Response,
        responses={**codes, 200: {"description": "The table.", "content": {t: {} for t in sorted({*_TYPES.values()})}}},
        **how,
    )
    async def result(name: str, request: Request) -> Response:
        """The table with predictions, when it is done."""
        jobs = _state(request).jobs
        path, found = jobs.result(name), jobs.find(name)
        if path is None or found is None:
            return _missing()
        media = _TYPES[found.output]
        return FileResponse(path, media_type=media, filename=f"predictions.{found.output}")

    @app.delete("/jobs/{name}", status_code=204, response_class=Response, responses=codes, **how)
    async def cancel(name: str, request: Request) -> Response:
        """End an upload and remove all of it from the server."""
        return Response(status_code=204) if await _state(request).jobs.cancel(name) else _missing()


def _missing() -> Response:
    return _problem(404, "there is no such upload, or it is not done")


# The server itself


def _add_state(app: FastAPI, metrics: Metrics) -> None:
    @app.get("/models", response_model=list[ModelInfo], dependencies=[_BEARER], tags=["server"],
             responses={code: _CODES[code] for code in (401, 403)})  # fmt: skip
    async def models(request: Request) -> Response:
        """The models and what can be asked of them."""
        entries = _state(request).catalogue.entries.values()
        own = ("name", "version", "loaded", "fault")
        return _Json([{**{key: getattr(e, key) for key in own}, **e.about} for e in entries])

    @app.get("/health", response_model=Health, tags=["server"], responses={403: _CODES[403]})
    async def health(request: Request) -> Response:
        """Whether the server can answer."""
        state = _state(request)
        entries = state.catalogue.entries.values()
        well = state.pool.alive == state.pool.count and not any(e.fault for e in entries)
        found = {"status": "ok" if well else "degraded", "ccn": __version__, "workers": state.pool.alive}
        versions = {e.name: e.version for e in entries}
        return _Json({**found, "waiting": len(state.pool.waiting), "models": versions})

    @app.get("/metrics", response_class=PlainTextResponse, dependencies=[_BEARER], tags=["server"],
             responses={code: _CODES[code] for code in (401, 403)})  # fmt: skip
    async def counters(request: Request) -> Response:
        """Counters in the format of Prometheus."""
        pool = _state(request).pool
        text = metrics.text({"ccn_workers": pool.alive, "ccn_waiting_requests": len(pool.waiting)})
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


def _add_page(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        files = _files()
        text = files["/static/index.html"][0]
        if "/editor/openchemlib.js" in files:
            text = text.replace(b'id="draw" hidden', b'id="draw"')
        return HTMLResponse(text)

    @app.api_route("/{folder}/{name}", methods=["GET", "HEAD"], include_in_schema=False)
    async def file(folder: str, name: str) -> Response:
        found = _files().get(f"/{folder}/{name}")
        if found is None:
            raise HTTPException(404, "there is no such file")
        return Response(found[0], media_type=found[1], headers={"Cache-Control": "no-cache"})

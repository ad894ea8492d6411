"""Fits of members of a stack: in this process, in several or on a Dask cluster, each kept in a file.

A run that is resumed reads the files of fits that are of the same method and rows, and does the others.
"""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ccn.datasets.splits import Split
from ccn.errors import CCNError, FileError, TrainingError
from ccn.files import digest
from ccn.learning import model_file
from ccn.learning.examples import Examples, fingerprint
from ccn.learning.model import Model
from ccn.methods.method import Method, fit
from ccn.progress import progress
from ccn.training.execution import Execution, torch_threads
from ccn.training.processes import end_with

__all__ = ["Job", "fit_all"]

_IN_PROCESS = 200  # rows up to which processes take longer to start than they save


class Job(NamedTuple):
    """One fit of a member: the rows of all folds but one, or of all."""

    name: str
    fold: int | None
    examples: Examples
    method: Method

    @property
    def title(self) -> str:
        return f"{self.name}-{'all' if self.fold is None else self.fold}"

    @property
    def called(self) -> str:
        return f"{self.name}, {'all rows' if self.fold is None else f'fold {self.fold + 1}'}"

    @property
    def key(self) -> str:
        """Identifies the fit by the method's settings and the data."""
        e = self.examples
        whole = e.graphs.arrays.get("graph_features")
        rows = (e.targets, e.bounds, e.auxiliary, e.train, e.validation, e.weights)
        features = None if whole is None else np.asarray(whole)
        return digest(repr(self.method), str(e.class_weight), fingerprint(e.graphs, *rows, features))


def fit_all(
    jobs: Sequence[Job], execution: Execution, processes: int | None
) -> Iterator[tuple[tuple[str, int | None], Model]]:
    """The models of all jobs, in this process, in several or on a cluster, as they are done."""
    if not jobs:
        return
    fits = _here(jobs, execution, processes) if execution.client is None else _on_cluster(jobs, execution)
    with progress("fitting members", len(jobs), notes=True, shown=execution.verbose) as update:
        for done, (job, model) in enumerate(fits, 1):
            update(done, job.called)
            yield (job.name, job.fold), model


def _here(jobs: Sequence[Job], execution: Execution, processes: int | None) -> Iterator[tuple[Job, Model]]:
    """The models of jobs, fitted on this machine; few rows in this process."""
    import joblib
    from joblib.externals.loky.process_executor import BrokenProcessPool

    bare = Execution(folder=execution.folder, resume=execution.resume, every=execution.every)
    few = max(len(job.examples.train) for job in jobs) <= _IN_PROCESS
    count = 1 if few else joblib.effective_n_jobs(-1 if processes is None else processes)
    pool = joblib.Parallel(min(count, len(jobs)), return_as="generator_unordered")
    try:
        for at, model in pool(joblib.delayed(_fit)(at, job, bare, os.getpid()) for at, job in enumerate(jobs)):
            yield jobs[at], model
    except BrokenProcessPool as error:
        raise TrainingError(
            f"a process that fitted a member was killed, perhaps for lack of memory ({str(error).splitlines()[0]}); "
            "continue with --resume, and with LOKY_MAX_CPU_COUNT=1 in the environment for one fit at a time"
        ) from None


def _fit(number: int, job: Job, execution: Execution, parent: int) -> tuple[int, Model]:
    """The number of a job and its model, which is kept in a file; a worker ends with the process of the run."""
    end_with(parent)
    model = _kept(job, execution)
    return number, model or _keep(job, _fitted(job, execution), execution)


def _file(job: Job, execution: Execution) -> Path | None:
    return None if execution.folder is None else execution.folder / f"{job.title}.safetensors"


def _kept(job: Job, execution: Execution) -> Model | None:
    """The model of a resumed run, if there is a file of the same method and rows."""
    file = _file(job, execution)
    if file is None or not execution.resume or not file.is_file():
        return None
    with suppress(FileError):  # like a checkpoint that is damaged, it is passed over
        model = model_file.load(file)
        if model.about.get("job") == job.key and model.task.like(job.examples.task()):
            return model
    return None


def _keep(job: Job, model: Model, execution: Execution) -> Model:
    """The model, written to the file of its job."""
    file = _file(job, execution)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        model_file.save(replace(model, about={**model.about, "job": job.key}), file)
    return model


def _fitted(job: Job, execution: Execution) -> Model:
    """The model of a job, with the time and the history of its training."""
    began = time.process_time()
    examples = job.examples if job.method.joint else job.examples.without_auxiliary()
    if not job.method.reads_whole:
        examples = replace(examples, inputs=replace(examples.inputs, columns=()))
    with torch_threads(1):
        model, outcome = fit(job.method, examples, execution.part(job.title, None), domain=False)
    history = [[dict(row) for row in network] for network in outcome.history]
    return replace(model, about={**model.about, "seconds": time.process_time() - began, "history": history})


def _on_cluster(jobs: Sequence[Job], execution: Execution) -> Iterator[tuple[Job, Model]]:
    """The models of jobs, fitted by the workers of a Dask cluster, which need not see the folder.

    The scheduler gives the fit of a worker that has died to another. The examples are sent once, as the result of a
    task, so that they are recreated if all workers that held them have died.
    """
    from distributed import as_completed
    from distributed.scheduler import KilledWorker

    client, waiting = execution.client, {}
    content = client.submit(bytes, pickle.dumps(jobs[0].examples), pure=False)
    for job in jobs:
        model = _kept(job, execution)
        if model is not None:
            yield job, model
        else:
            how = (job.name, job.fold, job.examples.split, job.method)
            waiting[client.submit(_fit_there, content, *how, pure=False)] = job
    try:
        for future in as_completed(list(waiting)):
            job = waiting[future]
            yield job, _keep(job, model_file.loads(future.result()), execution)
    except KilledWorker as error:
        raise TrainingError(
            f"several workers of the cluster died over one fit ({error}); look for lack of memory there, then continue "
            "with --resume"
        ) from None


def _fit_there(content: bytes, name: str, fold: int | None, split: Split, method: Method) -> bytes:
    """On a worker: the model of a job as the content of a file."""
    try:
        examples = replace(_received(content), split=split)
        return model_file.dumps(_fitted(Job(name, fold, examples, method), Execution()))
    except CCNError as error:
        raise type(error)(str(error)) from None


@lru_cache(maxsize=1)
def _received(content: bytes) -> Examples:
    made: Examples = pickle.loads(content)  # of the user's own cluster
    return made

"""``ccn serve``: a page for people and an API for programs, which answer with models that are trained already.

What flows: a request -> :mod:`ccn.serving.app`, which checks it -> :mod:`ccn.serving.pool`, which waits for a free
worker and joins small requests into one batch -> :mod:`ccn.serving.worker`, a process that holds the models and answers
with :mod:`ccn.serving.answers`, the functions of ``ccn predict`` and ``ccn explain`` -> plain data -> JSON. Uploads are
jobs (:mod:`ccn.serving.jobs`): folders on disk, each answered by a process of its own. The server itself computes
nothing, so that no molecule can hold it. Imports runs and everything above it, and FastAPI where an application is
made.
"""

from __future__ import annotations

__all__: list[str] = []

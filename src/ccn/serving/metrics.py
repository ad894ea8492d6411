"""Counters of a server in the text format of Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["Metrics"]

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_ROWS = (1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 256.0)
Labels = tuple[tuple[str, str], ...]


@dataclass
class _Histogram:
    bounds: Sequence[float]
    counts: list[int] = field(default_factory=list)
    total: float = 0.0

    def observe(self, value: float) -> None:
        self.counts = self.counts or [0] * (len(self.bounds) + 1)
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


@dataclass
class Metrics:
    """What has happened since the server started.

    Example:
        >>> made = Metrics()
        >>> made.request("/predict", 200, 0.01)
        >>> 'ccn_requests_total{path="/predict",status="200"} 1' in made.text({"ccn_workers": 2})
        True
    """

    counters: dict[str, dict[Labels, float]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(float)))
    histograms: dict[str, dict[Labels, _Histogram]] = field(default_factory=lambda: defaultdict(dict))

    def request(self, path: str, status: int, seconds: float) -> None:
        """A request to a path of the API was answered."""
        self._count("ccn_requests_total", path=path, status=str(status))
        self._observe("ccn_request_seconds", _SECONDS, seconds, path=path)

    def batch(self, kind: str, requests: int, rows: int, seconds: float) -> None:
        """A worker answered some requests together."""
        self._count("ccn_rows_total", rows, kind=kind)
        self._count("ccn_batched_requests_total", requests, kind=kind)
        self._observe("ccn_batch_rows", _ROWS, rows, kind=kind)
        self._observe("ccn_batch_seconds", _SECONDS, seconds, kind=kind)

    def restarted(self) -> None:
        """A worker process was started again."""
        self._count("ccn_worker_restarts_total")

    def loaded(self, model: str, *, good: bool) -> None:
        """A model was replaced on disk, and read or refused."""
        self._count("ccn_model_loads_total", model=model, result="loaded" if good else "refused")

    def job(self, state: str) -> None:
        """An upload has come to its end."""
        self._count("ccn_jobs_total", state=state)

    def text(self, gauges: Mapping[str, float]) -> str:
        """All counters, and some values of now."""
        out = []
        for name, of in sorted(self.counters.items()):
            out.append(f"# TYPE {name} counter")
            out += [f"{name}{_labels(labels)} {value:g}" for labels, value in sorted(of.items())]
        for name, series in sorted(self.histograms.items()):
            out.append(f"# TYPE {name} histogram")
            for labels, h in sorted(series.items()):
                below = 0
                for bound, count in zip([*map(str, h.bounds), "+Inf"], h.counts, strict=True):
                    below += count
                    out.append(f"{name}_bucket{_labels((*labels, ('le', bound)))} {below}")
                out += [f"{name}_sum{_labels(labels)} {h.total:.6f}", f"{name}_count{_labels(labels)} {below}"]
        for name, value in gauges.items():
            out += [f"# TYPE {name} gauge", f"{name} {value:g}"]
        return "\n".join(out) + "\n"

    def _count(self, name: str, by: float = 1, **labels: str) -> None:
        self.counters[name][tuple(sorted(labels.items()))] += by

    def _observe(self, name: str, bounds: Sequence[float], value: float, **labels: str) -> None:
        self.histograms[name].setdefault(tuple(sorted(labels.items())), _Histogram(bounds)).observe(value)


def _labels(labels: Labels) -> str:
    r"""Labels in braces, with quotes, backslashes and line ends of their values escaped."""
    if not labels:
        return ""
    escaped = [(k, v.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")) for k, v in labels]
    return "{" + ",".join(f'{k}="{v}"' for k, v in escaped) + "}"

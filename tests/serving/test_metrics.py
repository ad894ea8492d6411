"""Counters as Prometheus reads them."""

from __future__ import annotations

from ccn.serving.metrics import Metrics


def test_buckets_are_cumulative_and_labels_escaped() -> None:
    made = Metrics()
    for seconds in (0.001, 0.02, 99.0):
        made.request('/a"\\\n', 200, seconds)
    text = made.text({})
    assert r'path="/a\"\\\n"' in text
    counts = [int(line.rsplit(" ", 1)[1]) for line in text.splitlines() if "_bucket" in line]
    assert counts == sorted(counts)
    assert (counts[0], counts[-1]) == (1, 3)

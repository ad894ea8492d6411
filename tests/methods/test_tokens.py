"""Shares of tokens in common against sets, and files of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from ccn.methods import tokens
from ccn.methods.tokens import Tokens, numbered


def drawn(rows: int, vocabulary: int, seed: int) -> list[set[int]]:
    rng = np.random.default_rng(seed)
    return [set(rng.integers(0, vocabulary, rng.integers(0, 12)).tolist()) for _ in range(rows)]


def as_numbers(sets: list[set[int]]) -> Any:
    pairs = [(i, t) for i, s in enumerate(sets) for t in s]
    graph, token = (np.array(a) for a in zip(*pairs, strict=True))
    return numbered([(graph, token.astype(np.uint32))])


@pytest.mark.parametrize("dense", [0, 5, 512])
def test_shares_are_those_of_sets(dense: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_DENSE", dense)
    monkeypatch.setattr(tokens, "_TOGETHER", 7)
    rows, graphs = drawn(20, 30, 0), [*drawn(15, 40, 1), set()]
    made = Tokens.of(as_numbers(rows), len(rows))
    found = np.empty((len(graphs), len(rows)))
    for some, shares in made.compared(as_numbers(graphs), len(graphs)):
        found[some] = shares
    expected = [[len(g & h) / max(1, len(g | h)) for h in rows] for g in graphs]
    np.testing.assert_allclose(found, expected, atol=1e-7)


@pytest.mark.parametrize("vocabulary", [50, 200_000])
def test_a_file_gives_the_same_back(vocabulary: int) -> None:
    rows = drawn(12_000 if vocabulary > 100 else 30, vocabulary, 2)
    made = Tokens.of(as_numbers(rows), len(rows))
    again = Tokens.from_state(made.state())
    for key in ("vocabulary", "start", "place"):
        np.testing.assert_array_equal(getattr(again, key), getattr(made, key))
        assert getattr(again, key).dtype == getattr(made, key).dtype


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("vocabulary", torch.tensor([3, 2, 1], dtype=torch.int32)),
        ("vocabulary", torch.tensor([1.0, float("nan")])),
        ("vocabulary", torch.zeros(0, dtype=torch.int32)),
        ("start", torch.tensor([0, 5, 3], dtype=torch.int32)),
        ("start", torch.tensor([0], dtype=torch.int32)),
        ("start", torch.zeros((2, 2), dtype=torch.int32)),
        ("start", torch.zeros(1 << 18, dtype=torch.int32)),
        ("place", torch.full((9,), -1, dtype=torch.int16)),
        ("place", torch.zeros(4, dtype=torch.int64)),
    ],
)
def test_forged_tokens_are_refused(key: str, value: torch.Tensor) -> None:
    made = Tokens.of(as_numbers(drawn(10, 30, 3)), 10)
    with pytest.raises(ValueError, match="tokens"):
        Tokens.from_state({**made.state(), key: value})

"""The compiled way through trees, against one in plain Python."""

from typing import Any

import numpy as np
import pytest

from ccn.methods.tree_walk import walk


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_rows_come_to_the_leaves_that_plain_python_finds(outputs: int, kind: type) -> None:
    rng = np.random.default_rng(outputs)
    x: Any = rng.normal(size=(17, 4)).astype(kind)
    left: list[int] = []
    right: list[int] = []
    feature: list[int] = []
    threshold: list[float] = []
    value: list[float] = []

    def grow(depth: int) -> int:
        at = len(left)
        for array, item in ((left, at), (right, at), (feature, int(rng.integers(4)))):
            array.append(item)
        threshold.append(float(rng.normal()))
        value.append(float(rng.normal()))
        if depth and rng.random() < 0.8:
            left[at], right[at] = grow(depth - 1), grow(depth - 1)
        return at

    root = [grow(4) for _ in range(6)]
    expected: Any = np.zeros((17, outputs))
    for row in range(17):
        for tree, node in enumerate(root):
            while left[node] != node:
                node = left[node] if x[row, feature[node]] <= threshold[node] else right[node]
            expected[row, tree % outputs] += value[node]
    integers = [np.array(a, dtype=np.int32) for a in (feature, left, right, root)]
    out = np.zeros((17, outputs))
    walk(x, integers[0], np.array(threshold), integers[1], integers[2], np.array(value), integers[3], out)
    np.testing.assert_allclose(out, expected, rtol=1e-12)

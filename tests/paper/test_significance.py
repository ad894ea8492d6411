"""The corrected resampled t-test against the formula written out, and against scipy without the correction."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from ccn.errors import CCNError
from ccn.paper.significance import corrected_t_test

A = [0.91, 0.87, 0.93, 0.88, 0.90, 0.85]
B = [0.88, 0.86, 0.87, 0.89, 0.86, 0.84]


def slowly(a: list[float], b: list[float], ratio: float) -> float:
    """By sums, and the density of Student's distribution integrated."""
    d = [x - y for x, y in zip(a, b, strict=True)]
    j = len(d)
    mean = sum(d) / j
    variance = sum((x - mean) ** 2 for x in d) / (j - 1)
    t = abs(mean) / math.sqrt(variance * (1 / j + ratio))
    nu = j - 1
    front = math.gamma((nu + 1) / 2) / (math.sqrt(nu * math.pi) * math.gamma(nu / 2))
    tail, _ = integrate.quad(lambda x: front * (1 + x * x / nu) ** (-(nu + 1) / 2), t, math.inf)
    return float(2 * tail)


@pytest.mark.parametrize("ratio", [1 / 8, 1 / 9, 0.5])
def test_the_formula(ratio: float) -> None:
    assert corrected_t_test(A, B, ratio) == pytest.approx(slowly(A, B, ratio), rel=1e-6)
    assert corrected_t_test(B, A, ratio) == corrected_t_test(A, B, ratio)


def test_without_the_correction_it_is_the_paired_test_and_with_it_more_careful() -> None:
    paired = float(stats.ttest_rel(A, B).pvalue)
    assert corrected_t_test(A, B, 0.0) == pytest.approx(paired)
    assert corrected_t_test(A, B) > paired


def test_it_rarely_finds_what_is_not_there_where_the_paired_test_often_does() -> None:
    """Splits of 90 rows: two methods that are equally good, with errors that belong to rows rather than to splits."""
    rng = np.random.default_rng(0)
    found = np.zeros(2)
    for _ in range(200):
        rows = rng.normal(size=90)  # how much better the first is on each row; nothing on average over draws of rows
        d = [rows[rng.permutation(90)[:10]].mean() + 0.5 * rows[rng.permutation(90)[:80]].mean() for _ in range(10)]
        zero = [0.0] * 10
        found += [corrected_t_test(d, zero) < 0.05, corrected_t_test(d, zero, 0.0) < 0.05]
    assert found[0] < found[1] / 2


def test_equal_differences() -> None:
    assert corrected_t_test([1.0, 2.0], [1.0, 2.0]) == 1.0
    assert corrected_t_test([1.0, 2.0], [0.0, 1.0]) == 0.0


def test_one_split_is_too_few() -> None:
    with pytest.raises(CCNError, match="1 and 1"):
        corrected_t_test([1.0], [2.0])

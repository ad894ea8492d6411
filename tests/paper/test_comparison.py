"""Our figures beside the paper's, the best, what is not significantly worse, and what is missing."""

from statistics import fmean

from made_up import accuracies, record

from ccn.paper.significance import corrected_t_test
from ccn.paper.tables import table

GOOD = [0.90, 0.92, 0.88, 0.91, 0.89, 0.90, 0.93, 0.87, 0.90, 0.91]
NEAR = [0.91, 0.90, 0.89, 0.88, 0.90, 0.89, 0.91, 0.88, 0.91, 0.89]
FAR = [x - 0.1 + 0.01 * (i % 2) for i, x in enumerate(GOOD)]


def test_means_deviations_the_best_and_what_is_not_worse() -> None:
    made = table("kernels", accuracies("MUTAG", ccn_2=GOOD, wl=NEAR, graphlet=FAR))
    assert made.methods.index("wl") < made.methods.index("graphlet") < made.methods.index("ccn-2")
    best, near, far = (made.figures["MUTAG", m] for m in ("ccn-2", "wl", "graphlet"))
    assert best.text(made.form) == "90.10 ± 1.79"
    assert best.quoted is not None
    assert best.quoted.text == "91.64 ± 7.24"
    assert (best.best, best.close) == (True, False)
    assert (near.best, near.close) == (False, corrected_t_test(NEAR, GOOD) >= 0.05) == (False, True)
    assert (far.best, far.close) == (False, False)
    assert any("corrected resampled t-test" in note for note in made.notes)


def test_equal_up_to_rounding_is_equally_good() -> None:
    one, other = [x / 7 for x in (1, 3, 6)], [x / 7 for x in (1, 4, 5)]  # 10 of 21
    assert fmean(100 * x for x in one) < fmean(100 * x for x in other)
    made = table("kernels", accuracies("MUTAG", wl=one, gin=other, graphlet=[0.1, 0.3, 0.7]))
    shown = {m: (f.best, f.close) for m in made.methods if (f := made.figures["MUTAG", m]).values}
    assert shown == {"wl": (True, False), "gin": (True, False), "graphlet": (False, True)}


def test_what_is_worse_than_one_of_the_best_is_worse_than_the_best() -> None:
    turned = GOOD[5:] + GOOD[:5]
    lower = [x - 0.01 + 0.001 * (i % 2) for i, x in enumerate(turned)]
    assert corrected_t_test(lower, turned) < 0.05 <= corrected_t_test(lower, GOOD)
    for records in (
        accuracies("MUTAG", wl=GOOD, gin=turned, pscn=lower),
        accuracies("MUTAG", wl=turned, gin=GOOD, pscn=lower),
    ):
        assert not table("kernels", records).figures["MUTAG", "pscn"].close


def test_splits_are_compared_with_themselves_whatever_the_order_of_records() -> None:
    records = accuracies("MUTAG", ccn_2=GOOD, wl=FAR)
    one, other = table("kernels", records), table("kernels", records[::-1])
    assert one.figures == other.figures


def test_what_is_missing_or_ended_early_is_shown_so() -> None:
    records = [
        *accuracies("NCI1", wl=GOOD, gin=[0.99] * 6, pscn=[0.5] * 8),
        *(record("NCI1", "pscn", s, status="timeout", seconds=1800.0) for s in (8, 9)),
        *(record("NCI1", "random-walk", s, status="timeout", seconds=1800.4) for s in range(10)),
        record("NCI1", "ngf", status="failed", details={"error": "out of memory"}),
    ]
    made = table("kernels", records)
    shown = {m: made.figures["NCI1", m].text(made.form) for m in made.methods}
    assert shown["gin"] == "99.00 ± 0.00 (6 of 10 splits)"
    assert shown["pscn"] == "50.00 ± 0.00 (8 of 10 splits, 2 timed out)"
    assert shown["random-walk"] == "timed out"
    assert shown["ngf"] == "failed"
    assert shown["ccn-2"] == "\N{EN DASH}"
    # Six splits do not win against ten, nor are they called as good.
    assert [m for m in made.methods if made.figures["NCI1", m].best] == ["wl"]
    assert not any(f.close for f in made.figures.values())
    assert any("30 minutes" in note for note in made.notes)

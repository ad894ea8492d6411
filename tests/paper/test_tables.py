"""Tables from made-up records: means, the best, what is significant, what is missing."""

from dataclasses import replace
from statistics import fmean

import pytest
from made_up import accuracies, hcep, pairs, qm9, record

from ccn.errors import CCNError
from ccn.paper.significance import corrected_t_test
from ccn.paper.tables import NAMES, table

GOOD = [0.90, 0.92, 0.88, 0.91, 0.89, 0.90, 0.93, 0.87, 0.90, 0.91]
NEAR = [0.91, 0.90, 0.89, 0.88, 0.90, 0.89, 0.91, 0.88, 0.91, 0.89]
FAR = [x - 0.1 + 0.01 * (i % 2) for i, x in enumerate(GOOD)]


@pytest.mark.parametrize("name", NAMES)
def test_without_records_there_are_the_papers_figures(name: str) -> None:
    made = table(name, [])
    assert all(not f.values and not f.best for f in made.figures.values())
    assert any(f.quoted for f in made.figures.values()) == (name not in ("kernels-more", "expressivity", "qm9-units"))


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


def test_more_splits_have_a_table_of_their_own() -> None:
    records = accuracies("MUTAG", wl=[*GOOD, 0.1, 0.2], graphlet=NEAR)
    assert table("kernels", records).figures["MUTAG", "wl"].text(".2f") == "90.10 ± 1.79"
    more = table("kernels-more", records)
    assert (more.items, more.methods) == (("MUTAG",), ("wl",))
    assert len(more.figures["MUTAG", "wl"].values) == 12
    assert "Splits: 12 of MUTAG." in more.notes


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
    assert "Timed out: a cell of one method and split was ended after 30 minutes." in made.notes
    short = table("kernels", [record("NCI1", "ngf", status="timeout", seconds=1.03)])
    assert "Timed out: a cell of one method and split was ended after 1.03 seconds." in short.notes


def test_hcep_has_fractions_of_the_trees_and_the_rows_of_training() -> None:
    recipe = {"network": {"edge_features": True}}
    records = [
        hcep("boosting", 1.0, rows=40_000, features="element", hydrogens=False),
        hcep("wl-oa", 0.8, rows=5_000, features="element", hydrogens=False),
        hcep("ccn-2-default", 0.4, rows=40_000, features="atoms", hydrogens=True, recipe=recipe),
        hcep("ngf", None),
    ]
    made = table("hcep", records)
    assert made.figures["fraction", "ccn-2-default"].mean == pytest.approx(0.4)
    assert made.figures["rmse", "wl-oa"].mean == pytest.approx(1.6)
    assert made.figures["mae", "ngf"].text(".3f") == "\N{EN DASH}"
    said = made.figures["fraction", "ccn-2"].quoted
    assert said is not None
    assert said.text == "0.483"
    assert made.label("wl-oa") == "wl-oa (5,000 training rows)"
    assert made.label("boosting") == "boosting"
    given = "Atoms are described by the set atoms, hydrogens included, and bonds by their features: ccn-2-default."
    assert given in made.notes


def test_without_trees_there_are_no_fractions() -> None:
    made = table("hcep", [hcep("wl", 0.8)])
    assert made.figures["fraction", "wl"].mean is None
    assert made.figures["mae", "wl"].best


def test_one_error_without_the_other_has_no_fraction() -> None:
    lacking = hcep("wl", None)
    lacking = replace(lacking, details={**lacking.details, "rmse": [0.5]})
    made = table("hcep", [hcep("boosting", 1.0), lacking])
    assert made.figures["fraction", "wl"].mean is None
    assert made.figures["rmse", "wl"].mean == 0.5


def test_qm9_is_scaled_and_the_floor_does_not_compete() -> None:
    records = [qm9("ccn-2", 0.3, {"mu": 0.95}), qm9("wl", 0.6), qm9("floor", 0.2)]
    made = table("qm9", records)
    assert made.methods[-1] == "floor"
    assert made.figures["alpha", "ccn-2"].mean == pytest.approx(0.3)
    assert made.figures["mean scaled MAE", "ccn-2"].mean == pytest.approx(0.35)
    assert made.figures["mu", "wl"].best
    assert made.figures["alpha", "ccn-2"].best
    assert not any(f.best for (_, m), f in made.figures.items() if m == "floor")
    said = made.figures["mean scaled MAE", "ccn-2"].quoted
    assert said is not None
    assert said.text == "0.348"
    assert table("qm9-rmse", records).figures["alpha", "wl"].mean == pytest.approx(1.2)
    units = table("qm9-units", records)
    assert units.figures["alpha", "wl"].mean == pytest.approx(1.2)  # 0.6 deviations of 2
    assert units.label("alpha") == "alpha (bohr^3)"


def test_a_data_set_stands_for_its_table() -> None:
    made = [record("MUTAG", "wl", test=0.5)]
    assert table("mutag", made) == table("PTC_MR", made) == table("kernels", made)


def test_pairs_are_counted_and_those_of_brec_summed() -> None:
    sizes = {"BREC basic": 60, "BREC regular": 50, "BREC extension": 100, "strongly regular": 1}
    records = [pairs(d, "ccn-2, 2 levels", n, n) for d, n in sizes.items()]
    records += [pairs(d, "1-WL", 0, n) for d, n in sizes.items()]
    records += [pairs("BREC basic", "3-WL", 60, 60)]
    made = table("expressivity", records)
    assert made.label("BREC") == "BREC (210 pairs)"
    assert [made.figures["BREC", m].text(made.form) for m in made.methods] == ["0", "\N{EN DASH}", "210"]
    assert [m for m in made.methods if made.figures["BREC basic", m].best] == ["3-WL", "ccn-2, 2 levels"]


def test_records_without_details_show_their_figure() -> None:
    bare = [replace(r, details={}) for r in (hcep("wl", 0.5), qm9("wl", 0.25), pairs("BREC basic", "1-WL", 1, 2))]
    assert table("hcep", bare[:1]).figures["mae", "wl"].mean == 0.5
    assert table("qm9", bare[1:2]).figures["mean scaled MAE", "wl"].mean == pytest.approx(0.25)
    assert table("expressivity", bare[2:]).figures["BREC basic", "1-WL"].mean == 1


def test_a_table_that_is_not() -> None:
    with pytest.raises(CCNError, match="choose from kernels, kernels-more, hcep"):
        table("mutagen", [])

"""The paper's tables from made-up records."""

from dataclasses import replace

import pytest
from made_up import accuracies, hcep, pairs, qm9, record

from ccn.errors import CCNError
from ccn.paper.tables import NAMES, table


@pytest.mark.parametrize("name", NAMES)
def test_without_records_there_are_the_papers_figures(name: str) -> None:
    made = table(name, [])
    assert all(not f.values and not f.best for f in made.figures.values())
    assert any(f.quoted for f in made.figures.values()) == (name not in ("kernels-more", "expressivity", "qm9-units"))


def test_more_splits_have_a_table_of_their_own() -> None:
    records = accuracies("MUTAG", wl=[0.8, 0.9] * 5 + [0.1, 0.2], graphlet=[0.8] * 10)
    assert table("kernels", records).figures["MUTAG", "wl"].mean == pytest.approx(85)
    more = table("kernels-more", records)
    assert (more.items, more.methods) == (("MUTAG",), ("wl",))
    assert len(more.figures["MUTAG", "wl"].values) == 12
    assert "Splits: 12 of MUTAG." in more.notes


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
    (given,) = (note for note in made.notes if note.endswith(": ccn-2-default."))
    assert "the set atoms, hydrogens included, and bonds" in given


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
    with pytest.raises(CCNError, match=r"'mutagen'.* kernels, kernels-more, hcep"):
        table("mutagen", [])

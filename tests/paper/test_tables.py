"""The paper's tables from made-up records."""

from dataclasses import replace

import pytest
from made_up import accuracies, hcep, pairs, qm9, record, task

from ccn.errors import CCNError
from ccn.paper.cells import TABLES
from ccn.paper.comparison import Quoted, quoted
from ccn.paper.records import Record
from ccn.paper.tables import NAMES, table
from ccn.paper.tasks import ADMET, CLIFFS, TASKS


@pytest.mark.parametrize("name", NAMES)
def test_without_records_there_are_the_papers_figures(name: str) -> None:
    made = table(name, [])
    assert all(not f.values and not f.best for f in made.figures.values())
    assert any(f.quoted for f in made.figures.values()) == (name != "kernels-more")


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


def admet(method: str, *, worse: int = 0, **more: float) -> list[Record]:
    """Two seeds of all tasks, better than the public best by 1 percent on all but the first so many."""
    out = []
    for i, name in enumerate(ADMET):
        best = quoted("admet", "public best", name)
        assert best is not None
        assert best.value is not None
        sign = -1 if (TASKS[name].metric == "mae") == (i >= worse) else 1
        out += [task(name, method, seed, best.value * (1 + sign * 0.01), **more) for seed in (0, 1)]
    return out


def test_tasks_have_ranks_times_and_counts_of_victories() -> None:
    records = [*admet("auto", worse=3), *admet("forest", worse=8, processor=30.0), task("dili", "chemprop", 0, 0.9)]
    made = table("admet", records)
    assert made.methods == ("auto", "forest", "chemprop", "public best")
    assert made.references == ("public best",)
    first, last = (made.figures[name, "auto"] for name in (ADMET[0], ADMET[-1]))
    assert first.mean == pytest.approx(0.256 * 1.01)
    assert (first.best, last.best) == (True, True)
    assert len(first.values) == 2
    assert not any(f.close for f in made.figures.values())
    ranks = {m: made.figures["mean rank", m].mean for m in made.methods}
    # Equal on three tasks and on three, and better on the five between.
    assert ranks == {"auto": pytest.approx((6 * 1.5 + 5) / 11), "forest": pytest.approx((6 * 1.5 + 10) / 11)} | {
        "chemprop": None,
        "public best": None,
    }
    minutes = [made.figures["processor minutes, all tasks", m].mean for m in ("auto", "forest", "chemprop")]
    assert minutes == [pytest.approx(11), pytest.approx(5.5), None]
    counts = [note for note in made.notes if "auto on" in note]
    assert [note.partition(": auto on ")[2] for note in counts] == ["5 of 11.", "1 of 1.", "8 of 11."]


def test_cliffs_have_the_mean_beside_the_published_ones() -> None:
    records = [task(name, "forest", 0, 0.6 + 0.02 * i) for i, name in enumerate(CLIFFS)]
    for name, ours, best, svm in (("cliffs", 0.74, "0.661", "0.665"), ("cliffs-only", 0.84, "0.727", "0.751")):
        made = table(name, records)
        mean = made.figures["mean", "forest"]
        assert mean.mean == pytest.approx(ours)
        assert mean.best
        said = [made.figures["mean", m].quoted for m in ("best of 24", "SVM-ECFP")]
        assert [q.text for q in said if q] == [best, svm]
    assert table("cliffs", records[1:]).figures["mean", "forest"].mean is None


def test_looks_count_cells_that_were_run_again() -> None:
    first = [task("dili", "forest", seed, 0.8, date="2030-01-01") for seed in range(3)]
    made = table("admet", [*first, task("dili", "forest", 0, 0.9), task("herg", "auto", 0, 0.9)])
    assert made.figures["dili", "forest"].values == {0: 0.9, 1: 0.8, 2: 0.8}
    looks = [note for note in made.notes if "Looks" in note]
    assert [("2030-01-01" in n, "3 cells" in n, "2 cells" in n) for n in looks] == [(1, 1, 0), (0, 0, 1)]
    assert "auto 1" in looks[1]


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
    sizes = {name: 10 * i for i, name in enumerate(TABLES["expressivity"][:7], 1)} | {"strongly regular": 1}
    records = [pairs(d, "ccn-2, 2 levels", n, n) for d, n in sizes.items()]
    records += [pairs(d, "1-WL", 0, n) for d, n in sizes.items()]
    records += [pairs("BREC basic", "3-WL", 10, 10)]
    made = table("expressivity", records)
    assert made.label("BREC") == "BREC (280 pairs)"
    assert made.methods == ("1-WL", "3-WL", "I2-GNN", "KP-GNN", "ccn-2, 2 levels")
    dash = "\N{EN DASH}"
    assert [made.figures["BREC", m].text(made.form) for m in made.methods] == ["0", dash, dash, dash, "280"]
    assert [m for m in made.methods if made.figures["BREC basic", m].best] == ["3-WL", "ccn-2, 2 levels"]
    said = made.figures["BREC", "I2-GNN"].quoted
    assert said is not None
    assert said.value == 281
    assert made.figures["seconds, BREC", "1-WL"].mean == 7


def test_records_without_details_show_their_figure() -> None:
    bare = [replace(r, details={}) for r in (hcep("wl", 0.5), qm9("wl", 0.25), pairs("BREC basic", "1-WL", 1, 2))]
    assert table("hcep", bare[:1]).figures["mae", "wl"].mean == 0.5
    assert table("qm9", bare[1:2]).figures["mean scaled MAE", "wl"].mean == pytest.approx(0.25)
    assert table("expressivity", bare[2:]).figures["BREC basic", "1-WL"].mean == 1


def test_a_table_that_is_not() -> None:
    with pytest.raises(CCNError, match=r"'mutagen'.* kernels, kernels-more, hcep"):
        table("mutagen", [])


def test_figures_published_elsewhere_stand_beside_ours() -> None:
    made = table("zinc", [record("ZINC", "ccn-2", i, 0.2 + i / 100, metric="mae") for i in range(4)])
    assert made.figures["ZINC", "ccn-2"].mean == pytest.approx(0.215)
    assert made.figures["ZINC", "GRIT"].quoted == Quoted("0.059", 0.059)
    assert made.references == ("SUN", "I2-GNN", "GRIT", "best published")
    assert any("drawn anew" in note for note in made.notes)
    folds = table("folds", [record("NCI1 10 folds", "gin", i, 0.8) for i in range(10)])
    figure = folds.figures["NCI1 10 folds", "gin"]
    assert figure.mean == pytest.approx(80)
    assert figure.quoted == Quoted("80.0", 80.0)
    assert folds.figures["MUTAG 5 folds", "gin"].splits == 5
    units = table("qm9-units", [])
    assert [units.figures[t, "AttentiveFP"].quoted for t in ("mu", "omega1")] == [Quoted("0.434", 0.434), None]


def test_errors_on_training_rows_of_hcep_stand_beside_those_of_the_older_table() -> None:
    made = hcep("lasso", 1.0)
    made = replace(made, details={**made.details, "train": {"mae": [0.9], "rmse": [None]}})
    found = table("hcep", [made, hcep("ridge", 1.1)]).figures
    assert (found["train_mae", "lasso"].mean, found["train_rmse", "lasso"].mean) == (0.9, None)
    assert found["train_mae", "ridge"].mean is None
    assert found["train_rmse", "ccn-2"].quoted == Quoted("0.422", 0.422)

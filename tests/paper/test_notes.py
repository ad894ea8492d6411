"""What tables say of the methods in them."""

from __future__ import annotations

from typing import Any

from made_up import qm9, record

from ccn.methods.network import NetworkMethod
from ccn.methods.registry import make_method
from ccn.paper.comparison import Figure
from ccn.paper.notes import fewer_rows, marks, timeouts
from ccn.paper.tables import table
from ccn.training.recipe import recipe, to_dict


def test_settings_that_a_data_set_changed_are_said() -> None:
    config = {"recipe": {"training": {"members": 2}}, "options": {"settings": {"members": 2, "epochs": 60}}}
    made = table("kernels", [record("NCI109", "ccn-2-default", test=0.5, config=config)])
    assert "ccn-2-default on NCI109: ensembles of 2 networks, epochs 60." in made.notes


def test_what_the_paper_leaves_out_is_said() -> None:
    recipe = {"name": "paper", "training": {"batch_size": 64, "epochs": 100}}
    made = table("kernels", [record("NCI1", m, test=0.5, config={"recipe": recipe}) for m in ("ccn-1", "ccn-2")])
    (said,) = (note for note in made.notes if note.startswith("ccn-1, ccn-2, "))
    assert "batches of 64 graphs, 100 epochs" in said
    assert "4, 8, 16" in said


def test_how_many_networks_there_are_for_several_targets_is_said() -> None:
    together = qm9("ccn-2", 0.3, chosen=[{}], targets="one network for all")
    made = table("qm9", [together, qm9("wl", 0.6, chosen=[{}] * 13), qm9("floor", 0.2)])
    assert "One network for all targets: ccn-2." in made.notes
    assert "One model per target: wl." in made.notes


def test_marks_are_explained_where_they_occur() -> None:
    assert marks([Figure()]) == []
    assert [note[0] for note in marks([Figure(best=True), Figure(close=True)])] == ["B", "†"]


def test_timeouts_have_their_range() -> None:
    late = [record("NCI1", "ngf", s, status="timeout", seconds=x) for s, x in enumerate((1800.4, 30.0, 60.0))]
    (note,) = timeouts(late)
    assert "30 seconds to 30 minutes" in note
    assert timeouts([record("NCI1", "ngf", test=0.5)]) == []


def test_methods_with_fewer_rows_are_labelled() -> None:
    some = [record("HCEP", m, test=1.0, metric="mae", config={"rows": n}) for m, n in (("wl", 500), ("gin", 4_000))]
    labels, (note,) = fewer_rows(some, ["wl", "gin"])
    assert labels == {"wl": "wl (500 training rows)"}
    assert "4,000" in note
    assert fewer_rows(some[1:], ["wl", "gin"]) == ({}, [])


def test_a_recipe_that_has_changed_since_is_said() -> None:
    def notes(**settings: Any) -> tuple[str, ...]:
        made = recipe("default", order=3, **settings).for_task(classification=True)
        config = {"recipe": to_dict(made), "options": {"settings": {"members": 5}}}
        return table("kernels", [record("PTC", "ccn-3-default", test=0.5, config=config)]).notes

    assert "ccn-3-default on PTC, before its recipe changed: norm none." in notes(members=5, norm=None)
    assert not any("before its recipe changed" in note for note in notes(members=5))


def test_the_recipe_of_a_method_that_departs_from_the_default_is_no_change() -> None:
    made = make_method("ccn-1-default", classification=True)
    assert isinstance(made, NetworkMethod)
    notes = table("kernels", [record("PTC", made.name, test=0.5, config={"recipe": to_dict(made.resolved())})]).notes
    assert not any("before its recipe changed" in note for note in notes)


def test_a_setting_that_did_not_exist_is_not_a_change() -> None:
    then = to_dict(recipe("default").for_task(classification=True))
    del then["network"]["graph_features"]
    made = table("kernels", [record("PTC", "ccn-2-default", test=0.5, config={"recipe": then})])
    assert not any("before its recipe changed" in note for note in made.notes)

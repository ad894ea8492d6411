"""Every example runs and does what its page says."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from ccn.methods import METHODS

EXAMPLES = Path(__file__).parents[2] / "examples"
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ccn.methods.registry.METHODS", dict(METHODS))  # an example adds one


def example(name: str) -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


def test_message_passing_is_blind_and_higher_orders_see() -> None:
    found = example("message_passing")["main"]()
    assert all(pair["message passing"] < 1e-9 < pair["order 2"] for pair in found.values())
    assert found["rook's graph, Shrikhande graph"]["order 1"] < 1e-9 < found["decalin, bicyclopentyl"]["order 1"]


def test_parts_of_ones_own() -> None:
    names = example("rings_and_groups")
    found = names["parts"]()
    assert found["rings"] == [(4, 5, 6, 7, 8, 9)]
    assert (1, 2, 3) in found["carboxyl and ester groups"]
    assert (0, 1, 2) in found["rigid pieces"]
    assert names["covariant"]()


@pytest.mark.slow
def test_a_network_whose_parts_are_rings_counts_them() -> None:
    assert example("rings_and_groups")["count_rings"]() < 0.5


def test_a_contraction_of_ones_own() -> None:
    names = example("own_contraction")
    names["check"]()
    assert names["same_as_einsum"]() < 1e-12
    assert all(0 < loss < 100 for loss in names["triangles"](steps=5).values())


def test_a_method_of_ones_own() -> None:
    score, same = example("own_method")["main"]()
    assert same
    assert score > 0


def test_forces_are_learned_and_turn() -> None:
    before, after, rotation = example("forces")["main"](steps=20)
    assert after < before / 2
    assert rotation < 1e-9


@pytest.mark.slow
def test_solubility_with_a_report() -> None:
    found = example("solubility")["main"]()
    low, high = float(found["logS_low"]), float(found["logS_high"])
    assert low < float(found["logS_pred"]) < high
    assert Path("example/report.html").stat().st_size > 10_000
    assert Path("why.svg").read_text("utf-8").startswith("<svg")


@pytest.mark.slow
def test_search_and_pipeline() -> None:
    names = example("sklearn_search")
    chosen, score = names["search"]()
    assert chosen.keys() == {"method", "features"}
    assert score > 0.5
    assert names["pipeline"](epochs=5) > 0


@pytest.mark.slow
def test_onnx_runtime_gives_the_same() -> None:
    pytest.importorskip("onnxscript")
    assert max(example("onnx_export")["main"]().values()) < 1e-4


@pytest.mark.slow
def test_a_screening_on_dask() -> None:
    pytest.importorskip("distributed")
    best = example("screening")["main"]()
    assert len(best) == 3
    assert best[0][1] >= best[2][1] > 0.5


@pytest.mark.slow
def test_several_processes() -> None:
    found = example("several_processes")["main"]()
    assert found.keys() == {1, 2}
    assert all(0.5 < accuracy <= 1 for accuracy in found.values())


@pytest.mark.slow
def test_serving_and_its_client() -> None:
    pytest.importorskip("fastapi")
    (good, bad), why, table = example("serving")["main"]()
    assert good["values"]["logP_low"] < good["values"]["logP_pred"] < good["values"]["logP_high"]
    assert bad["values"] is None
    assert bad["where"] == [2, 3]
    total = why["baseline"] + sum(why["atoms"]) + sum(why["bonds"]) + sum(why["whole"].values()) + why["residual"]
    assert abs(total - why["prediction"]) < 1e-6
    assert [bool(line.split(",")[2]) for line in table.splitlines()] == [True] * 3

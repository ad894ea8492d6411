"""Tests mirror the code: ``src/ccn/room/module.py`` is tested by ``tests/room/test_module.py``."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parent
SRC = TESTS.parent / "src" / "ccn"
# Modules, or folders of them, without a test file of their name, and the file that covers them.
ELSEWHERE = {
    "engine/cpu": "engine/test_aggregate.py",
    "engine/maps": "engine/test_aggregate.py",
    "engine/matrices": "graphs/test_adjacency.py",
    "errors": "cli/test_cli.py",
    "layers/initialisation": "layers/test_aggregation.py",
    "learning/model": "learning/test_model_file.py",
    "reports/sections": "reports/test_report.py",
    "runs/train": "cli/test_train.py",
    "runs/tune": "cli/test_tune.py",
    "schemes/drawing": "schemes/test_scheme.py",
    "schemes/packed": "engine/test_aggregate.py",
    "serving/answers": "serving/test_app.py",
    "serving/limits": "serving/test_app.py",
    "serving/server": "cli/test_serve.py",
    "version": "test_import.py",
}


def test_every_module_has_its_test() -> None:
    modules = [p.relative_to(SRC) for p in SRC.rglob("*.py") if not p.name.startswith("__")]
    without = {m.with_suffix("") for m in modules if not (TESTS / m.with_name(f"test_{m.name}")).exists()}
    covered = {m: [key for key in ELSEWHERE if m.is_relative_to(key)] for m in without}
    assert not sorted(str(m) for m, keys in covered.items() if not keys), "have no test"
    needed = {key for keys in covered.values() for key in keys}
    assert not ELSEWHERE.keys() - needed, "need not be listed"
    assert not [name for name in ELSEWHERE.values() if not (TESTS / name).exists()], "are not there"

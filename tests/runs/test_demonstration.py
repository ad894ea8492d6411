"""The demonstration, shortened."""

from __future__ import annotations

from pathlib import Path

import pytest

from ccn.runs import demonstration as demo


@pytest.mark.slow
def test_it_ends_with_accuracy_a_model_and_predictions(tmp_path: Path) -> None:
    shown = demo.run(tmp_path / "run", epochs=1, seed=0)
    assert shown.tested == 38
    assert shown.majority == pytest.approx(26 / 38)
    assert 0 <= shown.accuracy <= 1
    assert shown.model.is_file()
    assert [name for name, _, _ in shown.predictions] == list(demo.MOLECULES)
    assert all(0 < p < 1 for _, _, p in shown.predictions)
    demo.run(tmp_path / "run", epochs=1, seed=0)  # in the place of the first

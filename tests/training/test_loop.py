"""The loop: it learns, stops in time, survives kills bit by bit, and gives one gradient on any number of processes."""

from __future__ import annotations

import csv
import errno
import json
import math
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from problem import network, problem, small

from ccn import sealed
from ccn.datasets.splits import Split
from ccn.errors import ConfigurationError, FileError, TrainingError
from ccn.training.execution import Execution
from ccn.training.loop import rose, train

PROBLEM = Path(__file__).parent / "problem.py"


def _script(what: str, folder: Path, *more: str) -> None:
    """Run the shared problem in a fresh interpreter, whose forks share no thread with the tests."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    command = [sys.executable, str(PROBLEM), what, str(folder), *more]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_network_learns_and_keeps_its_best_epoch() -> None:
    task, examples = problem(60, missing=False)
    r = small(epochs=25, dropout=0.0, learning_rate=1e-2, channels=8, hidden=32, norm=None, patience=25)
    assert r.training.keep == "best"
    net = network(task, r)
    before = torch.get_rng_state()
    progress = train(net, task, examples, r)
    assert torch.equal(torch.get_rng_state(), before)
    losses = [row["validation_loss"] for row in progress.history]
    assert min(losses) < 0.3 * losses[0]
    assert progress.best == min(losses)
    assert losses[progress.best_epoch] == min(losses)
    out = net.eval()(examples.graphs.select(examples.validation).batch()).detach().double()
    y = torch.from_numpy(task.encode(examples.targets)[examples.validation])
    assert float(torch.nn.functional.mse_loss(out, y)) == pytest.approx(min(losses), rel=1e-4)


@pytest.mark.slow
def test_patience_stops_and_a_run_without_validation_goes_to_its_end() -> None:
    task, examples = problem()
    r = small(epochs=40, patience=1, learning_rate=0.5)
    stopped = train(network(task, r), task, examples, r)
    assert stopped.ended == "patience"
    assert stopped.epoch == stopped.best_epoch + 2
    none = examples.train[:0]
    alone = replace(examples, split=Split(examples.train, none, none))
    whole = train(network(task, small(patience=1)), task, alone, small(patience=1))
    assert (whole.ended, whole.epoch, whole.best_epoch) == ("epochs", 3, 2)
    assert "validation_loss" not in whole.history[0]


def test_a_run_whose_validation_loss_rises_for_long_ends_and_keeps_its_best_epoch() -> None:
    task, examples = problem(30, targets=1, missing=False)
    y = examples.targets.copy()
    y[examples.validation] = 2 * y[examples.train].mean() - y[examples.validation]  # what is learned is wrong there
    examples = replace(examples, targets=y)
    r = small(epochs=24, keep="last", learning_rate=1e-2, dropout=0.0)
    said: list[str] = []
    net = network(task, r)
    stopped = train(net, task, examples, r, execution=Execution(say=said.append))
    losses = [row["validation_loss"] for row in stopped.history]
    assert stopped.ended == "validation loss rose"
    assert (stopped.epoch < 24, stopped.best) == (True, min(losses))
    assert stopped.best_epoch == losses.index(min(losses))
    assert f"epoch {stopped.best_epoch + 1} is kept" in said[0]
    out = net.eval()(examples.graphs.select(examples.validation).batch()).detach().double()
    held = torch.from_numpy(task.encode(y)[examples.validation])
    assert float(torch.nn.functional.mse_loss(out, held)) == pytest.approx(min(losses), rel=1e-4)
    whole = train(network(task, r), task, examples, r.override(rising="ignore"))
    assert (whole.ended, whole.epoch, whole.best_epoch) == ("epochs", 24, 23)
    assert [row["validation_loss"] for row in whole.history][: stopped.epoch] == losses


@pytest.mark.parametrize(
    ("losses", "epochs", "expected"),
    [
        ([0.2] + [3.0] * 4, 15, False),  # not for long
        ([0.2] + [3.0] * 5, 15, True),
        ([0.2] + [0.9] * 9, 15, False),  # better than a constant
        ([0.8] + [1.5] * 9, 15, False),  # less than twice the best
        ([0.2, 0.3, 3.0], 3, True),  # the last epoch
        ([0.2, 3.0, 0.3], 3, False),
        ([0.2] + [math.nan] * 5, 15, True),
        ([math.nan] * 9, 15, False),
        ([3.0], 1, False),
        ([], 15, False),
    ],
)
def test_a_rise_is_long_and_clear(losses: list[float], epochs: int, expected: bool) -> None:
    assert rose(losses, 1.0, epochs) == expected


def test_the_last_epoch_is_kept_unless_the_run_is_cut_short() -> None:
    task, examples = problem()
    r = small(epochs=4, keep="last")
    whole = train(network(task, r), task, examples, r)
    assert (whole.best_epoch, whole.best) == (3, whole.history[-1]["validation_loss"])


def test_the_same_seed_gives_the_same_weights_and_another_seed_others() -> None:
    task, examples = problem()
    r = small(epochs=1)
    made = []
    for seed in (1, 1, 2):
        net = network(task, r)
        torch.rand(seed)  # what the process drew before is of no account
        train(net, task, examples, r, seed=seed)
        made.append(torch.cat([p.detach().reshape(-1) for p in net.parameters()]))
    assert torch.equal(made[0], made[1])
    assert not torch.equal(made[0], made[2])


@pytest.mark.slow
def test_two_processes_give_the_gradients_of_one(tmp_path: Path) -> None:
    # 18 rows in batches of 17: of the second one, a single row, the second process has no share.
    _script("processes", tmp_path, "layer", "batch")
    for norm in ("layer", "batch"):
        one, history = json.loads((tmp_path / f"gradients-{norm}-1-0.json").read_text())
        assert len(one) == 2
        assert np.abs(np.array(one)).max(axis=1).min() > 1e-3
        for rank in range(2):
            both, told = json.loads((tmp_path / f"gradients-{norm}-2-{rank}.json").read_text())
            np.testing.assert_allclose(both, one, rtol=0, atol=1e-10)
            for key, value in history[0].items():
                if key != "seconds":
                    assert told[0][key] == pytest.approx(value, abs=1e-9)


@pytest.mark.slow
def test_killed_five_times_a_run_ends_with_the_same_bits(tmp_path: Path) -> None:
    _script("kills", tmp_path)
    found = [torch.load(tmp_path / run / "final.pt", weights_only=True) for run in ("alone", "broken")]
    assert found[0].keys() == found[1].keys()
    assert all(torch.equal(found[0][k], found[1][k]) for k in found[0])
    rows = [list(csv.DictReader((tmp_path / r / "history.csv").read_text().splitlines())) for r in ("alone", "broken")]
    assert len(rows[0]) == 20
    for a, b in zip(*rows, strict=True):
        assert {k: v for k, v in a.items() if k != "seconds"} == {k: v for k, v in b.items() if k != "seconds"}


@pytest.mark.slow
def test_a_truncated_checkpoint_is_passed_over_for_the_one_before(tmp_path: Path) -> None:
    task, examples = problem()
    r = small()
    whole = network(task, r)
    train(whole, task, examples, r)
    net = network(task, r)
    stopped = train(net, task, examples, r, execution=Execution(folder=tmp_path, every=0.0, time_limit=0.0))
    assert (stopped.ended, stopped.step) == ("time limit", 1)
    resumed = train(
        network(task, r),
        task,
        examples,
        r,
        execution=Execution(folder=tmp_path, every=0.0, resume=True, time_limit=0.0),
    )
    assert resumed.step == 2
    files = sorted(tmp_path.glob("checkpoint-*"))
    assert len(files) == 2
    files[1].write_bytes(files[1].read_bytes()[:-100])
    net = network(task, r)
    assert train(net, task, examples, r, execution=Execution(folder=tmp_path, resume=True, every=0.0)).ended == "epochs"
    assert all(torch.equal(a, b) for a, b in zip(net.parameters(), whole.parameters(), strict=True))
    assert len(list(tmp_path.glob("checkpoint-*"))) == 2
    # A finished run has nothing left to do, and gives the same weights again.
    again = network(task, r)
    assert train(again, task, examples, r, execution=Execution(folder=tmp_path, resume=True)).ended == "epochs"
    assert all(torch.equal(a, b) for a, b in zip(again.parameters(), whole.parameters(), strict=True))


def test_a_full_disk_is_an_error_and_the_run_goes_on_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, examples = problem()
    r = small(epochs=1)
    train(network(task, r), task, examples, r, execution=Execution(folder=tmp_path, every=0.0, time_limit=0.0))
    kept = sorted(p.name for p in tmp_path.iterdir())

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(FileError, match="No space left on device"):
            train(network(task, r), task, examples, r, execution=Execution(folder=tmp_path, every=0.0, resume=True))
    assert sorted(p.name for p in tmp_path.iterdir()) == kept
    assert (
        train(network(task, r), task, examples, r, execution=Execution(folder=tmp_path, resume=True)).ended == "epochs"
    )


def test_a_folder_with_a_run_is_refused_without_resume_and_with_other_settings(tmp_path: Path) -> None:
    task, examples = problem()
    train(network(task, small(epochs=1)), task, examples, small(epochs=1), execution=Execution(folder=tmp_path))
    with pytest.raises(FileError):
        train(network(task, small()), task, examples, small(), execution=Execution(folder=tmp_path))
    with pytest.raises(FileError):
        train(network(task, small()), task, examples, small(), execution=Execution(folder=tmp_path, resume=True))


def test_a_loss_that_is_not_finite_stops_the_run_with_a_diagnosis(tmp_path: Path) -> None:
    task, examples = problem(missing=False)
    r = small(epochs=3, norm=None, clip=None)

    class Poisoned(torch.nn.Module):
        def __init__(self, net: torch.nn.Module) -> None:
            super().__init__()
            self.net, self.calls = net, 0

        def forward(self, b: object) -> torch.Tensor:
            out: torch.Tensor = self.net(b)
            self.calls += self.training
            return out * (math.nan if self.calls == 3 else 1.0)

    net = Poisoned(network(task, r))
    with pytest.raises(TrainingError) as caught:
        train(net, task, examples, r, execution=Execution(folder=tmp_path, every=0.0))
    said = str(caught.value)
    for part in ("epoch 0, batch 2, step 2", "nan"):
        assert part in said
    held = sealed.read(max(tmp_path.glob("checkpoint-*")), {"ccn checkpoint": 1})
    tensors, data = held.tensors, held.data
    assert data["progress"]["step"] == 2
    assert all(bool(t.isfinite().all()) for t in tensors.values())
    assert all(bool(p.isfinite().all()) for p in net.parameters())


def test_an_unknown_monitor_is_named_before_anything_runs() -> None:
    task, examples = problem()
    with pytest.raises(ConfigurationError, match=r"monitor='acc'.* mae, rmse, r2"):
        train(network(task, small()), task, examples, small(monitor="acc"))


def test_tensorboard_and_the_bar_are_written_when_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tensorboard")
    task, examples = problem()
    r = small(epochs=1)
    train(network(task, r), task, examples, r, execution=Execution(folder=tmp_path / "a"))
    assert capsys.readouterr() == ("", "")
    train(
        network(task, r), task, examples, r, execution=Execution(folder=tmp_path / "b", tensorboard=True, verbose=True)
    )
    assert "validation" in capsys.readouterr().err
    reading = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    log = reading.EventAccumulator(str(tmp_path / "b")).Reload()
    with (tmp_path / "b" / "history.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert [e.step for e in log.Scalars("train_loss")] == [1]
    assert log.Scalars("train_loss")[0].value == pytest.approx(float(row["train_loss"]))


def test_a_full_disk_under_a_tensorboard_log_is_an_error_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    writing = pytest.importorskip("tensorboard.summary.writer.record_writer")

    def full(*content: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(writing.RecordWriter, "write", full)
    task, examples = problem()
    r = small(epochs=1)
    with pytest.raises(FileError, match=r"events\."):
        train(network(task, r), task, examples, r, execution=Execution(folder=tmp_path, tensorboard=True))
    assert capsys.readouterr() == ("", "")


def test_the_first_checkpoint_comes_early_and_a_resumed_run_says_where_it_continues(tmp_path: Path) -> None:
    task, examples = problem()
    r, lines = small(), list[str]()

    class InterruptedRunError(Exception):
        pass

    def interrupt(row: Mapping[str, float]) -> None:
        if row["epoch"] == 2:
            raise InterruptedRunError

    for first, checkpoints in ((1e9, 0), (0.0, 1)):
        how = Execution(folder=tmp_path, every=1e9, first=first, resume=True, watch=interrupt, say=lines.append)
        with pytest.raises(InterruptedRunError):
            train(network(task, r), task, examples, r, execution=how)
        assert len(list(tmp_path.glob("checkpoint-*"))) == checkpoints
    for _ in range(2):
        train(network(task, r), task, examples, r, execution=replace(how, watch=None))
    assert "beginning" in lines[0]
    assert "beginning" in lines[1]
    assert "epoch 1 of 3, after 1 steps" in lines[2]
    assert "3 epochs" in lines[3]


def test_a_validation_part_without_finite_predictions_stops_the_run() -> None:
    task, examples = problem()
    r = small(epochs=1)

    class Overflowing(torch.nn.Module):
        def __init__(self, net: torch.nn.Module) -> None:
            super().__init__()
            self.net = net

        def forward(self, b: object) -> torch.Tensor:
            out: torch.Tensor = self.net(b)
            return out if self.training else out * math.nan

    with pytest.raises(TrainingError, match="epoch 0"):
        train(Overflowing(network(task, r)), task, examples, r)


def test_a_checkpoint_beyond_the_last_epoch_ends_the_run(tmp_path: Path) -> None:
    task, examples = problem()
    r = small(epochs=2)
    how = Execution(folder=tmp_path, resume=True, every=0.0)
    train(network(task, r), task, examples, r, execution=how)
    for path in tmp_path.glob("checkpoint-*"):
        held = sealed.read(path, {"ccn checkpoint": 1})
        held.data["progress"].update(epoch=10**9, ended="")
        sealed.write(path, "ccn checkpoint", 1, held.tensors, held.data)
    assert train(network(task, r), task, examples, r, execution=how).ended == "epochs"


def test_bounds_are_learned_from_and_told_apart_by_checkpoints(tmp_path: Path) -> None:
    task, examples = problem(missing=False, targets=1)
    r = small(epochs=5, dropout=0.0, norm=None, keep="last", learning_rate=0.03)
    odd = np.arange(len(examples.targets)) % 2 == 1
    means = {}
    for name, ends in {"met": (-np.inf, 1000.0), "far": (1000.0, np.inf)}.items():
        bounds = np.where(odd[:, None, None], ends, np.nan)
        some = replace(examples, targets=np.where(odd[:, None], np.nan, examples.targets), bounds=bounds)
        net = network(task, r)
        train(net, task, some, r, execution=Execution(folder=tmp_path / name))
        means[name] = float(net.eval()(examples.graphs.batch()).detach().mean())
    assert means["far"] > means["met"] + 0.1
    other = replace(some, bounds=2 * bounds)
    with pytest.raises(FileError):
        train(network(task, r), task, other, r, execution=Execution(folder=tmp_path / "far", resume=True))

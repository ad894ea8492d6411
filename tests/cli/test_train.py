"""`ccn train`: the folder of a run, its settings, and what is refused."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from ccn import sealed
from ccn.cli import main
from ccn.errors import CCNError
from ccn.files import file_digest
from ccn.learning.model_file import load
from ccn.methods.network import NetworkMethod
from ccn.runs.config import begin_folder, check_folder, hold_folder, read_config, resolve, to_toml
from tests.reading import csv_rows

Call = Callable[..., None]


def content(run: Path) -> tuple[object, dict[str, list[float]]]:
    """Header and weights of a model, to the bit; in the file the keys of the header come in any order."""
    held = sealed.read(run / "model.safetensors", {"ccn model": 2})
    tensors, data = held.tensors, held.data
    return data, {name: t.double().reshape(-1).tolist() for name, t in tensors.items()}


def test_numbers_are_fitted_on_the_scale_that_is_asked_for(
    table: Path, tmp_path: Path, ccn: Call, tiny: list[str], report_text: Callable[[Path], str]
) -> None:
    run = tmp_path / "run"
    ccn("train", table, "--target", "size", "-o", run, "--quiet", "--target-scale", "log", *tiny)
    assert content(run)[0]["task"]["scale"]["bends"][0]["kind"] == "log"  # type: ignore[index]
    assert "size log" in report_text(run)
    assert all(float(row["size_pred"]) > 0 for row in csv_rows(run / "predictions.csv"))


def test_a_heavy_tail_is_said(
    tmp_path: Path, ccn: Call, tiny: list[str], capsys: pytest.CaptureFixture[str], report_text: Callable[[Path], str]
) -> None:
    table, run = tmp_path / "tail.csv", tmp_path / "run"
    lines = [f"{'C' * (1 + i // 4)}{('O', 'N', 'F', 'Cl')[i % 4]},{2 ** (i / 2):.3f}" for i in range(40)]
    table.write_text("\n".join(["smiles,dose", *lines]) + "\n")
    ccn("train", table, "--target", "dose", "-o", run, *tiny)
    (line,) = [w for w in json.loads((run / "metrics.json").read_text())["warnings"] if "--target-scale auto" in w]
    assert line.startswith("dose:")
    assert line in capsys.readouterr().err
    assert line in report_text(run)


def test_a_run_is_one_folder_with_everything(run: Path, report_text: Callable[[Path], str]) -> None:
    names = {p.name for p in run.iterdir()}
    assert names == {
        "config.toml", "splits.json", "metrics.json", "history.csv", "checkpoints", "model.safetensors",
        "predictions.csv", "dropped.csv", "data.json", "training.csv.gz", "report.html", "figures",
    }  # fmt: skip
    found = json.loads((run / "metrics.json").read_text())
    assert found["graphs"] == {"train": 32, "validation": 2, "calibration": 2, "test": 4}
    assert set(found["metrics"]["test"]) == {"mae", "rmse", "r2", "spearman"}
    assert found["interval"]["level"] == 0.9
    assert "9 calibration rows, there are 2" in found["interval"]["reason"]
    assert len(csv_rows(run / "history.csv")) == 2
    tested = csv_rows(run / "predictions.csv")
    assert set(tested[0]) == {"row", "id", "smiles", "size", "size_pred"}
    assert len(tested) == 4
    for row in tested:
        assert row["id"] == f"m{int(row['row']) - 1}"
        assert float(row["size"]) == len(row["smiles"]) + 0.25
    text = report_text(run)
    assert found["interval"]["reason"] in text
    assert "--interval" not in text
    assert {p.suffix for p in (run / "figures").iterdir()} == {".png", ".svg"}


def test_classes_bad_rows_and_json(
    ccn: Call, table: Path, tmp_path: Path, tiny: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.csv"
    broken.write_text(table.read_text() + "bad,C1CC,1,acid\n")
    ccn("train", broken, "--target-columns", "kind", "-o", tmp_path / "run", "--json", "--quiet", *tiny)
    found = json.loads(capsys.readouterr().out)
    assert found["task"] == "binary"
    assert set(found["metrics"]["test"]) == {"accuracy", "roc_auc", "pr_auc", "mcc"}
    assert found["interval"] is None
    assert [r["value"] for r in csv_rows(tmp_path / "run" / "dropped.csv")] == ["C1CC"]
    assert "kind_prob_acid" in csv_rows(tmp_path / "run" / "predictions.csv")[0]


@pytest.mark.slow
def test_a_resumed_run_is_the_same_and_another_is_refused(
    ccn: Call, run: Path, table: Path, tmp_path: Path, tiny: list[str]
) -> None:
    again = tmp_path / "again"
    words = ("--target", "size", "--output", again, "--quiet", *tiny)
    ccn("train", table, *words, "--time-limit", "0")
    assert json.loads((again / "metrics.json").read_text())["members"][0]["ended"] == "time limit"
    with pytest.raises(CCNError, match="--resume"):
        ccn("train", table, *words)
    ccn("train", "--output", again, "--resume", "--quiet")
    assert content(again) == content(run)
    with pytest.raises(CCNError):
        ccn("train", "--output", again, "--resume", "--quiet", "--learning-rate", "0.1")
    ccn("train", "--output", again, "--resume", "--quiet")  # what was refused has left no trace
    ccn("train", table, *words, "--overwrite", "--members", "2")
    assert {r["member"] for r in csv_rows(again / "history.csv")} == {"0", "1"}


KILLS = """
import os, sys
from pathlib import Path

# All that the forked processes need.
import lightning_fabric, rdkit.Chem, sklearn.metrics
import ccn.engine.cpu.form, ccn.methods.covariant, ccn.runs.config, ccn.runs.train

from ccn.cli import main
from problem import kills

os.fsync = lambda fd: None  # a killed process loses nothing that it has written

def run(folder):
    try:
        main(["train", sys.argv[2], "--target", "size", "--output", str(folder), "--resume", "--quiet",
              "--no-report", "--checkpoint-every", "0", *sys.argv[3:]])
    except SystemExit as end:
        assert end.code == 0, end.code

kills(Path(sys.argv[1]), run)
"""


@pytest.mark.slow
def test_killed_five_times_on_the_command_line_a_run_ends_with_the_same_bits(
    table: Path, tmp_path: Path, tiny: list[str]
) -> None:
    shared = Path(__file__).parents[1] / "training"
    path = os.pathsep.join([str(shared), *filter(None, [os.environ.get("PYTHONPATH")])])
    longer = ["50" if before == "--epochs" else word for before, word in zip(["", *tiny], tiny, strict=False)]
    words = [sys.executable, "-c", KILLS, str(tmp_path), str(table), *longer, "--dropout", "0.1"]
    done = subprocess.run(words, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    alone, broken = tmp_path / "alone", tmp_path / "broken"
    assert content(broken) == content(alone)
    for name in ("predictions.csv", "splits.json"):
        assert (broken / name).read_bytes() == (alone / name).read_bytes()
    told = [
        [{k: v for k, v in r.items() if k != "seconds"} for r in csv_rows(x / "history.csv")] for x in (alone, broken)
    ]
    assert told[0] == told[1]
    assert {p.name for p in broken.rglob("*")} == {p.name for p in alone.rglob("*")}


def test_a_second_process_is_refused_while_the_first_is_at_work(
    ccn: Call, table: Path, tmp_path: Path, tiny: list[str]
) -> None:
    words = ("train", table, "--target", "size", "--output", tmp_path / "run", "--quiet", *tiny)
    with hold_folder(tmp_path / "run"), pytest.raises(CCNError):
        ccn(*words)
    assert not (tmp_path / "run").exists()
    child = fork_and_kill(tmp_path / "run")
    assert child != 0
    assert (tmp_path / "run" / ".run.lock").exists()
    ccn(*words)  # the lock has ended with the process that held it
    assert not (tmp_path / "run" / ".run.lock").exists()


def fork_and_kill(folder: Path) -> int:
    """A process that holds a folder and is killed; its status."""
    code = f"""import os, signal
from pathlib import Path
from ccn.runs.config import hold_folder
with hold_folder(Path({str(folder)!r})):
    os.kill(os.getpid(), signal.SIGKILL)
"""
    return subprocess.run([sys.executable, "-c", code], check=False).returncode


@pytest.mark.parametrize("killed_at", range(1, 20))
def test_an_interrupted_overwrite_can_be_resumed_or_overwritten(
    killed_at: int, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "run"
    shutil.copytree(run, other)
    config = resolve(None, {}, {**read_config(run / "config.toml"), "seed": 7})
    left = killed_at

    def counted(real: Callable[..., None]) -> Callable[..., None]:
        def step(*words: Any, **how: Any) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
            real(*words, **how)

        return step

    with monkeypatch.context() as patched:
        for name in ("unlink", "replace", "rename", "mkdir"):
            patched.setattr(Path, name, counted(getattr(Path, name)))
        patched.setattr(os, "unlink", counted(os.unlink))
        patched.setattr(shutil, "rmtree", counted(shutil.rmtree))
        with contextlib.suppress(KeyboardInterrupt):
            begin_folder(other, config, resume=False)
    assert check_folder(other, resume=False, overwrite=True) is None
    before = check_folder(other, resume=True, overwrite=False)
    former = other / ".former"
    if before is None:  # the former configuration was moved last
        assert (former / "config.toml").exists()
    else:
        assert before["seed"] in (0, 7)
        assert before["seed"] == 0 or not list((other / "checkpoints").rglob("checkpoint-*"))
    kept = {p.name for place in (other, former) if place.exists() for p in place.iterdir()}
    assert {p.name for p in run.iterdir()} <= kept
    begin_folder(other, config, resume=False)
    assert {p.name for p in former.iterdir()} == {p.name for p in run.iterdir()}


def test_a_run_without_checkpoints_is_resumed_with_the_settings_given(run: Path, tmp_path: Path) -> None:
    config = resolve(None, {}, {**read_config(run / "config.toml"), "seed": 7})
    other = tmp_path / "run"
    other.mkdir()
    shutil.copy(run / "config.toml", other)
    begin_folder(other, config, resume=True)
    assert read_config(other / "config.toml")["seed"] == 7
    shutil.copytree(run / "checkpoints", other / "checkpoints")
    begin_folder(other, resolve(None, {}, read_config(run / "config.toml")), resume=True)
    assert read_config(other / "config.toml")["seed"] == 7


def test_the_configuration_of_a_run_makes_it_again_and_flags_come_first(
    ccn: Call, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    ccn("train", "--config", run / "config.toml", "--output", other, "--quiet")
    assert content(other) == content(run)
    third = tmp_path / "third"
    ccn("train", "--config", run / "config.toml", "--output", third, "--quiet", "--epochs", "1", "--patience", "none",
        "--splits-file", run / "splits.json", "--seed", "4")  # fmt: skip
    settings = read_config(third / "config.toml")
    assert settings["training"]["epochs"] == 1
    assert settings["training"]["patience"] == "none"
    assert settings["seed"] == 4
    assert json.loads((third / "splits.json").read_text()) == json.loads((run / "splits.json").read_text())


def test_splits_by_a_column(ccn: Call, tmp_path: Path, tiny: list[str]) -> None:
    table = tmp_path / "t.csv"
    parts = ["train"] * 14 + ["val"] * 3 + ["test"] * 3
    table.write_text("smiles,y,part\n" + "".join(f"{'C' * (i + 1)},{i}.5,{p}\n" for i, p in enumerate(parts)))
    ccn("train", table, "--target", "y", "--split-column", "part", "-o", tmp_path / "run", "--quiet", *tiny)
    assert json.loads((tmp_path / "run" / "splits.json").read_text())["splits"][0]["test"] == [17, 18, 19]


def test_a_molecule_in_two_parts_is_said_and_left_out_of_a_second_score(
    ccn: Call, tmp_path: Path, tiny: list[str], capsys: pytest.CaptureFixture[str], report_text: Callable[[Path], str]
) -> None:
    table = tmp_path / "t.csv"
    rows = [(f"{'C' * (i + 1)}O", part) for i, part in enumerate(["train"] * 14 + ["val"] * 4 + ["test"] * 3)]
    rows += [("OC", "test"), ("OCC", "val")]
    table.write_text("smiles,y,part\n" + "".join(f"{s},{i}.5,{part}\n" for i, (s, part) in enumerate(rows)))
    words = ["train", table, "--target", "y", "--split-column", "part", *tiny]
    ccn(*words, "-o", tmp_path / "run")
    said = capsys.readouterr()
    assert "2, in 4 rows" in said.err
    assert "1 of the 4 test rows" in said.out
    found = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert found["shared_molecules"] == 2
    assert found["overlap"]["test"]["train"] == 1
    assert found["overlap"]["test"]["without"]["rows"] == 3
    assert found["overlap"]["test"]["without"]["metrics"] != found["metrics"]["test"]
    assert found["overlap"]["validation"]["train"] + found["overlap"]["calibration"]["train"] == 1
    assert "1 of the 4 test rows" in report_text(tmp_path / "run")
    ccn("info", tmp_path / "run")
    out = capsys.readouterr().out
    assert "test," in out
    assert "new" in out
    with pytest.raises(SystemExit) as ended:
        main(list(map(str, [*words, "-o", tmp_path / "other", "--duplicates", "together"])))
    assert ended.value.code == 1
    assert "rows 1 and 22" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "fact"),
    [
        (["train", "nowhere.csv", "-o", "run"], 1, "nowhere.csv"),
        (["train", "{table}", "--target", "sise", "-o", "run"], 1, "'sise'"),
        (["train", "{table}", "-o", "{folder}"], 1, "full: "),
        (["train", "{table}", "-o", "run", "--dropout", "2"], 1, "--dropout 2.0:"),
        (["train", "{table}", "-o", "run", "--epochs", "many"], 2, "--epochs"),
        (["train", "{table}", "-o", "run", "--epoch", "3"], 2, "--epoch"),
        (["train", "-o", "run"], 1, "molecules.csv"),
        (["predict", "nothing", "{table}"], 1, "nothing: "),
        (["contractions", "--order", "-1"], 1, "--order"),
        (["contractions", "--order", "2", "--order-out", "4"], 1, "order 3 to order 4"),
        (["contractions", "--ordr", "1"], 2, "Did you mean --order?"),
    ],
)
def test_an_error_is_one_line_and_an_exit_code(
    words: list[str],
    code: int,
    fact: str,
    table: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "full"
    folder.mkdir()
    (folder / "precious.txt").touch()
    with pytest.raises(SystemExit) as ended:
        main([w.format(table=table, folder=folder) for w in words])
    assert ended.value.code == code
    out, said = capsys.readouterr()
    assert not out
    assert fact in said
    assert "Traceback" not in said
    assert code == 2 or (said.startswith("ccn: ") and len(said.splitlines()) == 1)
    assert [p.name for p in folder.iterdir()] == ["precious.txt"]
    assert not (tmp_path / "run" / "model.safetensors").exists()


def test_debug_shows_where_an_error_arose(tmp_path: Path) -> None:
    with pytest.raises(CCNError):
        main(["info", str(tmp_path / "none"), "--debug"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--monitor", "accuracy"], "monitor='accuracy'"),
        (["--class-weight", "balanced"], "class_weight"),
        (["--precision", "7-true"], "7-true"),
        (["--method", "wl"], "ccn, not wl"),
        (["--device", "cuda"], "cuda.* cpu"),
    ],
)
def test_settings_are_checked_before_an_older_run_is_touched(
    words: list[str], said: str, ccn: Call, run: Path, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    before = {p: p.read_bytes() for p in run.rglob("*") if p.is_file()}
    how = "--resume" if "--method" in words else "--overwrite"
    words = words if "--method" in words else ["--method", "ccn", *words]
    with pytest.raises(CCNError, match=said):
        ccn("train", table, "--target", "size", "-o", run, "--quiet", how, *words)
    assert {p: p.read_bytes() for p in run.rglob("*") if p.is_file()} == before


def test_a_device_that_is_not_there_is_an_error_of_one_line(
    run: Path, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    out = str(tmp_path / "o.csv")
    for verb, device in (("evaluate", "cuda"), ("predict", "cuda:1"), ("predict", "foo")):
        words = [verb, str(run), str(table), "--device", device, "--quiet"]
        with pytest.raises(SystemExit) as ended:
            main(words if verb == "evaluate" else [*words, "-o", out])
        assert ended.value.code == 1
        (error,) = capsys.readouterr().err.splitlines()
        assert device in error
        assert "cpu" in error  # what there is


def test_the_device_may_be_left_to_the_machine(run: Path, table: Path, tmp_path: Path, ccn: Call) -> None:
    for device in ("auto", "cpu"):
        ccn("predict", run, table, "-o", tmp_path / f"{device}.csv", "--device", device, "--quiet")
    assert (tmp_path / "auto.csv").read_bytes() == (tmp_path / "cpu.csv").read_bytes()


def test_rows_without_a_target_are_counted(
    ccn: Call, table: Path, tmp_path: Path, tiny: list[str], report_text: Callable[[Path], str]
) -> None:
    more = tmp_path / "more.csv"
    more.write_text(table.read_text() + "x1,CCCCF,,acid\nx2,CCF,nan,acid\n")
    ccn("train", more, "--target", "size", "-o", tmp_path / "run", "--quiet", *tiny)
    rows = json.loads((tmp_path / "run" / "metrics.json").read_text())["graphs"]
    assert rows["without target"] == 2
    assert sum(rows.values()) == 42
    assert "without target 2" in report_text(tmp_path / "run")


@pytest.mark.parametrize("name", ["contractions", "nonlinearity", "scheme", "strategy", "precision", "devices"])
def test_what_the_network_or_the_machine_refuses_is_named_as_in_the_file(
    name: str, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config, section = tmp_path / "c.toml", "machine" if name in ("strategy", "precision", "devices") else "network"
    monkeypatch.setattr(NetworkMethod, "learn", lambda *_: pytest.fail("it was not refused"))
    for value in ('"x"', "[]", "{}", "-1", "1e400", "nan", "true"):
        config.write_text(f'method = "ccn"\n[{section}]\n{name} = {value}\n')
        with pytest.raises(SystemExit) as ended:
            main(["train", str(table), "--target", "size", "--config", str(config), "-o", str(tmp_path / "run")])
        assert ended.value.code == 1
        assert f"{config}: {section}.{name}=" in capsys.readouterr().err


def test_the_limit_of_atoms_goes_from_training_to_predictions(
    ccn: Callable[..., None], tmp_path: Path, tiny: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    table, out = tmp_path / "t.csv", tmp_path / "out.csv"
    table.write_text("smiles,y\n" + "".join(f"{'C' * (i + 1)},{i}.5\n" for i in range(20)))
    ccn("train", table, "--target", "y", "--max-atoms", "15", "-o", tmp_path / "run", "--quiet", *tiny)
    assert (tmp_path / "run" / "dropped.csv").read_text().count("too large") == 5
    ccn("predict", tmp_path / "run", table, "-o", out, "--processes", "1", "--quiet")
    assert [bool(row["y_pred"]) for row in csv_rows(out)] == [True] * 15 + [False] * 5
    capsys.readouterr()
    ccn("evaluate", tmp_path / "run", table, "--json")
    assert json.loads(capsys.readouterr().out)["rows"] == 15


def test_the_standard_form_of_training_is_that_of_predictions(
    ccn: Callable[..., None], table: Path, tiny: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, folder = tmp_path / "salts.csv", tmp_path / "run"
    lines = table.read_text().splitlines()
    data.write_text("\n".join([lines[0], *(line.replace("C(=O)O,", "C(=O)[O-].[Na+],") for line in lines[1:])]) + "\n")
    ccn("train", data, "--target", "size", "-o", folder, "--quiet", "--standardise", "parent", *tiny)
    assert sum(row["reason"].startswith("standardised") for row in csv_rows(folder / "dropped.csv")) == 10
    ccn("predict", folder, "CC(=O)[O-].[Na+]", "CC(=O)O", "CCC(=O)O", "-o", tmp_path / "out.csv", "--quiet")
    salt, acid, other = (row["size_pred"] for row in csv_rows(tmp_path / "out.csv"))
    assert salt == acid != other
    capsys.readouterr()
    ccn("evaluate", folder, table, "--json")  # the acids themselves are known too
    found = json.loads(capsys.readouterr().out)
    assert found["overlap"]["without"]["rows"] == json.loads((folder / "metrics.json").read_text())["graphs"]["test"]
    ccn("info", folder)
    assert "parent" in capsys.readouterr().out


@pytest.mark.parametrize("method", ["ccn", "wl"])
def test_censored_values_are_used_or_said_to_be_left_out(
    ccn: Callable[..., None],
    table: Path,
    tiny: list[str],
    tmp_path: Path,
    method: str,
    capsys: pytest.CaptureFixture[str],
    report_text: Callable[[Path], str],
) -> None:
    if method != "ccn":
        pytest.importorskip("skops")
    data, folder = tmp_path / "censored.csv", tmp_path / "run"
    rows = [line.split(",") for line in table.read_text().splitlines()]
    for row in rows[1::5]:
        row[2] = f">{float(row[2]) - 1}"
    data.write_text("".join(",".join(row) + "\n" for row in rows))
    ccn("train", data, "--target", "size", "-o", folder, *(tiny if method == "ccn" else ("--method", method)))
    found = json.loads((folder / "metrics.json").read_text())
    censored = found["censored"]
    assert (censored["values"], censored["rows"]) == ({"size": 8}, 8)
    assert (censored["trained_on"] > 0) == (method == "ccn")
    assert censored["trained_on"] + censored["left_out"] == 8
    assert sum(found["graphs"].values()) == 40  # every row is accounted for
    assert f"{censored['left_out']} are left out" in report_text(folder)
    capsys.readouterr()
    ccn("evaluate", folder, data, "--json")
    found = json.loads(capsys.readouterr().out)
    assert (found["rows"], found["censored"]) == (32, 8)


def test_replicates_are_joined_and_their_spread_is_reported(
    ccn: Callable[..., None], table: Path, tiny: list[str], tmp_path: Path, report_text: Callable[[Path], str]
) -> None:
    data, folder = tmp_path / "twice.csv", tmp_path / "run"
    head, *lines = table.read_text().splitlines()
    twice = [f"{line.split(',')[0]}b,{line.split(',')[1]},{float(line.split(',')[2]) + 0.5},x" for line in lines[:10]]
    data.write_text("\n".join([head, *lines, *twice]) + "\n")
    how = ("--target", "size", "--quiet", "--strict", *tiny)
    with pytest.raises(CCNError, match="row 41"):
        ccn("train", data, "-o", folder, *how)
    ccn("train", data, "-o", folder, *how, "--replicates", "mean")
    found = json.loads((folder / "metrics.json").read_text())
    assert sum(found["graphs"].values()) == 40
    assert found["replicates"]["rows"] == 20
    assert found["replicates"]["median_spread"]["size"] == pytest.approx(0.5 / 2**0.5)
    assert found["shared_molecules"] == 0
    assert len(csv_rows(folder / "replicates.csv")) == 20
    assert read_config(folder / "config.toml")["data"]["replicates"] == "mean"
    assert "20 rows" in report_text(folder)


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return dict(load(folder).fitted.state()[0])


def test_a_model_is_fine_tuned_from_its_weights(
    ccn: Callable[..., None], run: Path, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # At a vanishing learning rate the weights are those of the model.
    how = ("--epochs", "1", "--threads", "1", "--quiet", "--learning-rate", "1e-12", "--seed", "1")
    ccn("train", table, "--target", "size", "-o", tmp_path / "same", "--from", run, *how)
    old, new = weights(run), weights(tmp_path / "same")
    assert old.keys() == new.keys()
    assert all(torch.allclose(old[k], new[k], atol=1e-4) for k in old if "running" not in k and "batches" not in k)
    config = read_config(tmp_path / "same" / "config.toml")
    assert config["from"] == str(run)
    assert config["network"] == read_config(run / "config.toml")["network"]
    ccn("predict", tmp_path / "same", "CCO", "-o", tmp_path / "out.csv", "--quiet")
    capsys.readouterr()
    ccn("info", tmp_path / "same", "--json")
    begun = json.loads(capsys.readouterr().out)["about"]["from"]
    assert begun["sha256"] == file_digest(run / "model.safetensors")
    # Another seed, another test part: molecules of it were trained on by the old model.
    found = json.loads((tmp_path / "same" / "metrics.json").read_text())
    assert found["overlap"]["test"]["train"] > 0

    ccn("train", table, "--target", "kind", "-o", tmp_path / "other", "--from", run, *how)
    other = weights(tmp_path / "other")
    body = [k for k in old if ".head." not in k and "running" not in k and "batches" not in k]
    assert all(torch.allclose(old[k], other[k], atol=1e-4) for k in body)
    assert not torch.allclose(old["member0.head.2.weight"], other["member0.head.2.weight"], atol=1e-3)


def test_the_rate_of_fine_tuning_is_a_tenth_and_contradictions_are_named(
    run: Path, table: Path, tmp_path: Path
) -> None:
    begun: dict[str, Any] = {"from": str(run)}
    fine = resolve(str(table), {"data": {"target_columns": ["size"]}}, **begun)
    before = resolve(None, file=read_config(run / "config.toml"))
    rate = before.recipe.for_task(classification=False).optimiser.learning_rate
    assert not isinstance(rate, str)
    assert fine.recipe.optimiser.learning_rate == pytest.approx(rate / 10)
    assert fine.recipe.network == before.recipe.network
    again = resolve(None, file=tomllib.loads(to_toml(fine)))
    assert again.recipe == fine.recipe
    for section, key, value in (
        ("network", "channels", 5),
        ("features", "molecules", "atoms"),
        ("data", "standardise", "parent"),
        ("data", "extra_columns", ["size"]),
    ):
        with pytest.raises(CCNError, match=f"{key}="):
            resolve(str(table), {section: {key: value}}, **begun)
    with pytest.raises(CCNError, match="wl"):
        resolve(str(table), method="wl", **begun)
    with pytest.raises(CCNError, match="paper"):
        resolve(str(table), recipe="paper", **begun)


def test_folds_say_what_the_model_to_start_from_has_seen(
    ccn: Callable[..., None], run: Path, table: Path, tmp_path: Path, report_text: Callable[[Path], str]
) -> None:
    how = ("--epochs", "1", "--threads", "1", "--quiet", "--folds", "2")
    ccn("train", table, "--target", "size", "-o", tmp_path / "run", "--from", run, *how)
    sizes = json.loads((run / "metrics.json").read_text())["graphs"]
    found = json.loads((tmp_path / "run" / "metrics.json").read_text())["cross_validation"]
    assert found["seen_before"] == 40 - sizes["test"]
    assert f"{found['seen_before']} of the rows" in report_text(tmp_path / "run")


def test_the_head_of_a_network_may_read_features_of_the_molecule(
    ccn: Call, table: Path, tmp_path: Path, tiny: list[str]
) -> None:
    run = tmp_path / "run"
    flags = [{"element": "compact+morgan"}.get(word, word) for word in tiny]
    ccn("train", table, "--target", "size", "-o", run, "--quiet", *flags, "--graph-features")
    assert "graph_features = true" in (run / "config.toml").read_text()
    assert [name for name in content(run)[1] if name.endswith(".factor")] == ["member0.head.0.others.0.factor"]
    ccn("predict", run, table, "-o", tmp_path / "out.csv", "--quiet")
    tested = {row["smiles"]: float(row["size_pred"]) for row in csv_rows(run / "predictions.csv")}
    found = {row["smiles"]: float(row["size_pred"]) for row in csv_rows(tmp_path / "out.csv")}
    assert all(found[smiles] == pytest.approx(value, rel=1e-4) for smiles, value in tested.items())


def test_fine_tuning_keeps_extra_columns_and_the_scale_of_targets(
    ccn: Call, table: Path, tmp_path: Path, tiny: list[str]
) -> None:
    data, run = tmp_path / "t.csv", tmp_path / "run"
    lines = table.read_text().splitlines()
    data.write_text("\n".join([f"{lines[0]},pH", *(f"{line},{i % 7}" for i, line in enumerate(lines[1:]))]) + "\n")
    scaled = ("--extra-columns", "pH", "--graph-features", "--target-scale", "log")
    ccn("train", data, "--target", "size", "-o", run, "--quiet", *tiny, *scaled)
    how = ("train", data, "--target", "size", "--from", run, "--epochs", "1", "--threads", "1", "--quiet")
    ccn(*how, "-o", tmp_path / "fine", "--seed", "1", "--learning-rate", "1e-12")
    assert read_config(tmp_path / "fine" / "config.toml")["data"]["extra_columns"] == ["pH"]
    old, new = weights(run), weights(tmp_path / "fine")
    assert all(torch.equal(old[k], new[k]) for k in old if ".others." in k)  # those of the model, not of its new rows
    assert load(run).task.scale == load(tmp_path / "fine").task.scale
    with pytest.raises(CCNError, match="target_scale='linear'"):
        ccn(*how, "-o", tmp_path / "other", "--target-scale", "linear")


@pytest.mark.slow
def test_the_default_is_a_stack_that_is_saved_resumed_and_predicts(
    ccn: Call, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], report_text: Callable[[Path], str]
) -> None:
    run = tmp_path / "run"
    words = ("--target", "size", "-o", run, "--budget", "fast", "--epochs", "1", "--hidden", "4")
    ccn("train", table, *words)
    said = capsys.readouterr().out
    for name in ("stack", "trees", "gp", "ccn", "constant"):
        assert name in said
        assert name in report_text(run)
    assert "Choices were made on the validation part" not in report_text(run)
    before = (run / "predictions.csv").read_bytes()
    ccn("predict", run, "CCO", "OCC", "--json")
    one, two = (row["size_pred"] for row in json.loads(capsys.readouterr().out))
    assert float(one) == pytest.approx(float(two))
    ccn("info", run)
    assert "trees, gp" in capsys.readouterr().out
    made = {p: p.stat().st_mtime_ns for p in run.glob("checkpoints/*.safetensors")}
    (run / "model.safetensors").unlink()
    (run / "checkpoints" / "gp-1.safetensors").unlink()
    ccn("train", "--output", run, "--resume", "--quiet")
    assert (run / "predictions.csv").read_bytes() == before
    assert [p.name for p, at in made.items() if p.stat().st_mtime_ns != at] == ["gp-1.safetensors"]

"""The same chunks on Dask, with a worker killed in the middle."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from ccn.errors import ConfigurationError
from ccn.runs.answers import Question
from ccn.runs.predict import Options, predict_file
from ccn.runs.workers import cluster

distributed = pytest.importorskip("distributed")
# Dask's own servers complain about the connection to the worker that is killed.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.slow
def test_a_killed_worker_costs_its_chunk_only(model: Path, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("smiles\n" + "\n".join(f"{'C' * (i % 17)}{('O', 'N', 'C1')[i % 3]}" for i in range(600)) + "\n")
    predict_file(model, str(table), tmp_path / "here.csv", Options(processes=1, chunk=20))
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=60
    ) as started:
        with distributed.Client(started) as client:
            workers = list(client.run(os.getpid).values())
        killed: list[int] = []

        def kill(rows: int) -> None:
            if not killed:
                os.kill(workers[0], signal.SIGKILL)
                killed.append(rows)

        options = Options(cluster=started.scheduler_address, chunk=20, tell=kill)
        done = predict_file(model, str(table), tmp_path / "there.csv", options)
    assert killed == [20]
    assert done.rows == 600
    assert (tmp_path / "there.csv").read_bytes() == (tmp_path / "here.csv").read_bytes()


def test_no_scheduler_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "m").touch()
    with (
        pytest.raises(ConfigurationError, match="nonsense://nowhere"),
        cluster("nonsense://nowhere", tmp_path / "m", Question(), 1),
    ):
        pass

from pathlib import Path

from ccn.training.execution import Execution


def test_a_network_has_its_folder_and_its_share_of_the_time() -> None:
    every = Execution(folder=Path("run"), resume=True, time_limit=10.0)
    one = every.part("member1", 2.5)
    assert (one.folder, one.resume, one.time_limit) == (Path("run/member1"), True, 2.5)
    assert Execution().part("member0", None).folder is None

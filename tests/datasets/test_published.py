"""QM9 from a table and from the package's files, HCEP, and BREC's pairs in graph6."""

import csv
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from ccn.datasets import load
from ccn.datasets.published import PACKAGE_COLUMNS, TARGETS, free_atoms
from ccn.errors import ConfigurationError, DataError

# Methane and ammonia, as QM9 has them.
METHANE = "0 13.21 -0.3877 0.1171 0.5048 35.3641 0.044749 -40.47893 -40.476062 -40.475117 -40.498597 6.469"
AMMONIA = "1.6256 9.46 -0.257 0.0829 0.3399 26.1563 0.034358 -56.525887 -56.523026 -56.522082 -56.544961 6.316"
ROWS = {1: ("C", [float(x) for x in METHANE.split()]), 2: ("N", [float(x) for x in AMMONIA.split()])}
OMEGA = {1: 3151.7078, 2: 3575.3343}
FREQUENCIES = {  # ammonia lists two sets, of which the second counts
    1: "[1341.307,1341.3284,1341.365,1562.6731,1562.7453,3038.,3151.6034,3151.6788,3151.7078]",
    2: "[9000.,9001.,9002.,9003.,9004.,9005.,1103.8733,1684.1158,1684.3072,3458.7145,3575.2414,3575.3343]",
}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    with (tmp_path / "qm9.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["index", "smiles", *TARGETS])
        for i, (smiles, values) in ROWS.items():
            writer.writerow([i, smiles, *values, OMEGA[i]])
    return tmp_path / "qm9.csv"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for part in (1, 2, 3):
        with (tmp_path / f"qm9_part{part}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["XYZ_file", "Index", "SMILES", "N_atoms", "Harmonic_Freq_cmi", *PACKAGE_COLUMNS])
            if part in ROWS:
                smiles, values = ROWS[part]
                writer.writerow(["x", part, smiles, {1: 5, 2: 4}[part], FREQUENCIES[part], *values])
    return tmp_path


def test_atomisation_energies_are_totals_less_free_atoms(table: Path) -> None:
    total, bound = load("QM9", path=table, energies="total"), load("qm9", path=table)
    assert total.target_names == bound.target_names == tuple(TARGETS)
    assert total.targets[0, :-1].tolist() == ROWS[1][1]
    u0 = bound.target_names.index("u0")
    # CH4: one carbon and four hydrogens.
    np.testing.assert_allclose(bound.targets[0, u0], -40.47893 + 37.846772 + 4 * 0.500273, rtol=0, atol=1e-12)
    others = [i for i, name in enumerate(TARGETS) if name not in ("u0", "u", "h", "g")]
    np.testing.assert_array_equal(total.targets[:, others], bound.targets[:, others])
    assert "u0, u, h and g are atomisation energies" in str(bound)
    assert "total energies" in str(total)
    assert bound.units[u0] == "Hartree"
    assert free_atoms().shape == (5, 4)


def test_hydrogens_are_vertices_when_asked_for(table: Path) -> None:
    assert load("QM9", path=table).pack.sizes.tolist() == [1, 1]
    more = load("QM9", path=table, hydrogens=True, targets=["gap", "u0"])
    assert more.pack.sizes.tolist() == [5, 4]
    assert more.target_names == ("gap", "u0")
    assert not more.dropped
    with pytest.raises(DataError, match="'gup'"):
        load("QM9", path=table, targets=["gup"])
    with pytest.raises(ConfigurationError, match="'atomisation' or 'total'"):
        load("QM9", path=table, energies="kcal")


def test_the_files_of_the_package_give_the_same(table: Path, package: Path) -> None:
    ours, theirs = load("QM9", path=table), load("QM9", path=package)
    np.testing.assert_array_equal(ours.targets, theirs.targets)
    assert ours.smiles is not None
    assert theirs.smiles is not None
    assert list(ours.smiles) == list(theirs.smiles)
    (package / "qm9_part2.csv").unlink()
    with pytest.raises(DataError, match="qm9pack"):
        load("QM9", path=package)


@pytest.fixture
def hcep(tmp_path: Path) -> Path:
    path = tmp_path / "hcep.csv"
    path.write_text("smiles,pce,source\n" + "".join(f"{'C' * i}O,{i / 7},{'ab'[i % 2]}\n" for i in range(1, 41)))
    return path


def test_rows_of_hcep_have_efficiencies_and_groups(hcep: Path) -> None:
    data = load("HCEP", path=hcep)
    assert (len(data), data.task, data.units) == (40, "regression", ("%",))
    assert data.groups is not None
    assert set(data.groups) == {"a", "b"}


def test_a_draw_is_without_replacement_and_follows_the_seed(hcep: Path) -> None:
    draws = [load("HCEP", path=hcep, draw=25, seed=s).rows for s in (0, 0, 1)]
    first, again, other = (np.asarray(d) for d in draws)
    assert len(set(first.tolist())) == 25
    assert first.tolist() == again.tolist() != other.tolist()
    with pytest.raises(ConfigurationError, match="draw=41"):
        load("HCEP", path=hcep, draw=41)


def test_pairs_are_neighbours_and_share_a_group(tmp_path: Path) -> None:
    pairs = [(nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3)))] * 2
    texts = [[nx.to_graph6_bytes(g, header=False).decode().strip() for g in pair] for pair in pairs]
    path = tmp_path / "brec_pairs.tsv"
    path.write_text("category\tgraph6_a\tgraph6_b\n" + "".join(f"basic\t{a}\t{b}\n" for a, b in texts))
    data = load("BREC", path=path)
    assert data.groups is not None
    assert list(data.groups) == ["0", "0", "1", "1"]
    assert all(nx.is_isomorphic(a, b) for a, b in zip(data.to_networkx()[:2], pairs[0], strict=True))
    path.write_text("category\tgraph6_a\tgraph6_b\nbasic\tA_\tÿ\n")
    with pytest.raises(DataError, match="row 1 "):
        load("BREC", path=path)

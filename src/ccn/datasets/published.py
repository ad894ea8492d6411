"""Published data sets with columns or a format of their own: QM9, HCEP and BREC.

QM9 has 13 targets of 130,831 small molecules, in ``qm9.csv.gz`` or in the files of the package qm9pack. u0, u, h and g
are total energies in the source. An atomisation energy is the total minus the energies of the free atoms, hydrogens
included: ``E - sum over atoms of e(element)``, in Hartree; ``qm9_atomref.csv`` has those published with QM9.

HCEP has power conversion efficiencies of molecules for solar cells, from the Harvard Clean Energy Project. BREC has
pairs of graphs that are not isomorphic and that 1-WL cannot distinguish.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ccn.datasets.columns import Strings, encode_classes
from ccn.datasets.dataset import Dataset
from ccn.datasets.molecule_tables import Schema, dataset_of_molecules
from ccn.datasets.tables import Row, Table, find_column, open_table
from ccn.errors import ConfigurationError, DataError
from ccn.graphs.pack import Pack

__all__ = [
    "PACKAGE_COLUMNS",
    "TARGETS",
    "free_atoms",
    "qm9_energies",
    "qm9_files",
    "read_brec",
    "read_hcep",
    "read_qm9",
]

# Target: unit and column of qm9pack; omega1 is made from the frequencies.
_TARGETS = {
    "mu": ("Debye", "Dipole_debye"),
    "alpha": ("bohr^3", "Polarizability_bohr3"),
    "homo": ("Hartree", "HOMO_au"),
    "lumo": ("Hartree", "LUMO_au"),
    "gap": ("Hartree", "HOMO_LUMO_gap_au"),
    "r2": ("bohr^2", "R2_bohr2"),
    "zpve": ("Hartree", "ZPVE_au"),
    "u0": ("Hartree", "InternalEnergy_0K_au"),
    "u": ("Hartree", "InternalEnergy_298K_au"),
    "h": ("Hartree", "Enthalphy_298K_au"),
    "g": ("Hartree", "GibbsFreeEnergy_298K_au"),
    "cv": ("cal/(mol K)", "Heatcapacity_Cv_cal_mol_K"),
    "omega1": ("cm^-1", ""),
}
TARGETS = {name: unit for name, (unit, _) in _TARGETS.items()}
"""The targets and their units."""
PACKAGE_COLUMNS = tuple(column for _, column in _TARGETS.values() if column)
"""The columns of qm9pack, in the order of the targets; the last target is made from the frequencies."""

_ENERGIES = ("u0", "u", "h", "g")
_ATOMISATION = tuple(f"{name}_atomisation" for name in _ENERGIES)
_ELEMENTS = ("H", "C", "N", "O", "F")


def qm9_files(path: Path) -> list[Path]:
    """The files behind QM9: the table itself, or the parts in the folder of qm9pack."""
    if not path.is_dir():
        return [path]
    parts = [path / f"qm9_part{i}.csv" for i in (1, 2, 3)]
    missing = [p for p in parts if not p.is_file()]
    if missing:
        raise DataError(f"{missing[0]}: this part of qm9pack is missing; reinstall the package")
    return parts


def free_atoms() -> NDArray[np.float64]:
    """(elements, energies) the energies of the free atoms, in Hartree; the file has both in our order."""
    return np.loadtxt(Path(__file__).parent / "qm9_atomref.csv", delimiter=",", skiprows=1, usecols=range(1, 5))


def _highest_frequency(frequencies: str, atoms: int) -> float:
    """The highest harmonic frequency; where two sets are listed, of the second, from which zpve was computed."""
    values = json.loads(frequencies.replace(".,", ".0,").replace(".]", ".0]"))
    return float(max(values[len(values) // 2 :] if len(values) > 3 * atoms - 5 else values))


def _package_table(folder: Path) -> Table:
    """The parts of qm9pack as one table with the columns of ``qm9.csv.gz``."""
    parts = [open_table(p) for p in qm9_files(folder)]
    wanted = ("Index", "SMILES", *PACKAGE_COLUMNS, "Harmonic_Freq_cmi", "N_atoms")
    place = [find_column(parts[0], name, "qm9pack") for name in wanted]

    def rows() -> Iterator[Row]:
        for count, row in enumerate(itertools.chain.from_iterable(part.rows() for part in parts), 1):
            *cells, frequencies, atoms = (row.cells[i] for i in place)
            yield Row(count, [*cells, str(_highest_frequency(frequencies, int(atoms)))], row.fault)

    return Table(folder, ("index", "smiles", *TARGETS), rows)


def read_qm9(path: str | Path, name: str = "QM9", **options: Any) -> Dataset:
    """Read QM9 with its 13 targets as published and, after them, the four atomisation energies.

    :func:`qm9_energies` chooses between the two kinds of energy. The options are ``MOLECULE_OPTIONS`` of
    :mod:`ccn.datasets.molecule_tables`.
    """
    path = Path(path)
    table = _package_table(path) if path.is_dir() else open_table(path)
    schema = Schema("smiles", tuple(TARGETS), id="index")
    data, counts = dataset_of_molecules(table, schema, name, task="regression", elements=_ELEMENTS, **options)
    columns = [data.target_names.index(e) for e in _ENERGIES]
    bound = data.targets[:, columns] - counts @ free_atoms()
    return replace(
        data,
        targets=np.concatenate([data.targets, bound], axis=1),
        target_names=(*data.target_names, *_ATOMISATION),
        units=(*TARGETS.values(), *(TARGETS[e] for e in _ENERGIES)),
        noted=(),  # methane, ammonia and water are single atoms: nothing unusual here
    )


def qm9_energies(data: Dataset, *, energies: Literal["atomisation", "total"] = "atomisation") -> Dataset:
    """The 13 targets with energies of one kind."""
    if energies not in ("atomisation", "total"):
        raise ConfigurationError(f"energies={energies!r} must be 'atomisation' or 'total'")
    source = dict(zip(_ENERGIES, _ATOMISATION, strict=True)) if energies == "atomisation" else {}
    chosen = data.with_targets(source.get(name, name) for name in TARGETS)
    return replace(
        chosen,
        target_names=tuple(TARGETS),
        note=f"{', '.join(_ENERGIES[:-1])} and {_ENERGIES[-1]} are {energies} energies",
        options={**data.options, "energies": energies},
    )


def read_hcep(path: str | Path, name: str = "HCEP", **options: Any) -> Dataset:
    """Read all rows; groups are the two samples of the database that they come from. Options as for QM9."""
    schema = Schema("smiles", ("pce",), group="source")
    data, _ = dataset_of_molecules(open_table(path), schema, name, task="regression", **options)
    return replace(data, units=("%",))


def read_brec(path: str | Path, name: str = "BREC") -> Dataset:
    """Read the pairs: graphs 2i and 2i + 1 are pair i, which is also their group; the class is the category."""
    import networkx as nx

    table = open_table(path)
    category, *sides = (find_column(table, c, "BREC") for c in ("category", "graph6_a", "graph6_b"))
    graphs: list[Any] = []
    categories: list[str] = []
    for row in table.rows():
        for side in sides:
            try:
                graphs.append(nx.from_graph6_bytes(row.cells[side].encode()))
            except (nx.NetworkXError, ValueError, IndexError) as error:
                raise DataError(f"{path}: row {row.number} is not a pair in graph6 ({row.fault or error})") from None
            categories.append(row.cells[category])
    targets, classes = encode_classes([categories])
    return Dataset(
        name,
        Pack.of(graphs, name),
        targets,
        ("category",),
        "classification",
        classes,
        groups=Strings.of(str(i // 2) for i in range(len(graphs))),
        vertex_names=("constant",),
        note="graphs 2i and 2i + 1 are pair i",
    )

"""Molecules: from rows of SMILES to graphs, many at a time and on all cores, with a remark on every odd row."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccn.chemistry.properties import MoleculeFeatures, molecule_features, spelled
from ccn.datasets.columns import Task, encode_targets
from ccn.datasets.dataset import Dataset
from ccn.datasets.remarks import CONTRADICTION, NOT_A_NUMBER, Remark, check_strict
from ccn.datasets.schema import Schema, find_schema
from ccn.datasets.strings import Strings
from ccn.datasets.tables import Table, find_column, is_missing, number, open_table
from ccn.errors import DataError, GraphError
from ccn.graphs.pack import Pack

__all__ = ["Molecules", "convert", "dataset_of_molecules", "pack_molecules", "read_molecules"]

_CHUNK = 1000  # molecules that a worker takes at a time
_SERIAL = 4000  # up to so many, starting workers costs more than they save


@dataclass(frozen=True)
class Molecules:
    """SMILES as graphs.

    Attributes:
        pack: the graphs of those that are molecules.
        good: (graphs,) the place of each among the SMILES given.
        bad, noted: (place, reason) of those that are not, and of those that are unusual.
        canonical: canonical SMILES of each graph, if asked for.
        counts: (graphs, elements) atoms of each element asked for, hydrogens included.

    """

    pack: Pack
    good: NDArray[np.int64]
    bad: list[tuple[int, str]]
    noted: list[tuple[int, str]]
    canonical: list[str]
    counts: NDArray[np.int64]


def _reason(smiles: str) -> str:
    """Why RDKit does not read it."""
    from rdkit import Chem

    if not smiles:
        return "no SMILES"
    if not spelled(smiles):
        odd = next(c for c in smiles if not c.isascii())
        return f"not a SMILES: it has the character {odd!r}"
    mol = Chem.MolFromSmiles(smiles, sanitize=False)
    if mol is None:
        return "not a SMILES: its spelling is wrong"
    if not mol.GetNumAtoms():
        return "not a SMILES: it has no atom"
    problems = [p.Message() for p in Chem.DetectChemistryProblems(mol)]
    return f"not a molecule: {problems[0] if problems else 'RDKit refuses it'}"


def _reader(features: MoleculeFeatures, whole: bool) -> Callable[[str], Any]:
    """From SMILES to RDKit molecules, None for what is none.

    To perceive rings and aromaticity is half of the work. Where nothing of it is read, it is enough to know that a
    Kekulé structure exists and that its valences are right. What this does not accept RDKit's whole reading decides.
    """
    from rdkit import Chem

    if whole or features.perceived:
        return Chem.MolFromSmiles
    raw: Any = Chem.SmilesParserParams()
    raw.sanitize, raw.removeHs = False, False
    flags = Chem.SanitizeFlags
    checks = flags.SANITIZE_CLEANUP | flags.SANITIZE_CLEANUP_ORGANOMETALLICS | flags.SANITIZE_PROPERTIES

    def read(text: str) -> Any:
        # Hydrogens of their own may be taken in, and atoms of any kind are looked at more closely.
        if not any(odd in text for odd in ("*", "[H", "[#")):
            mol = Chem.MolFromSmiles(text, raw)
            if mol is not None and not Chem.SanitizeMol(mol, checks, catchErrors=True):
                Chem.FastFindRings(mol)
                try:
                    Chem.Kekulize(mol, clearAromaticFlags=True)
                    mol.UpdatePropertyCache(strict=True)
                    return mol
                except Chem.MolSanitizeException:
                    pass
        return Chem.MolFromSmiles(text)

    return read


def _counts(mol: Any, elements: Sequence[str]) -> list[int]:
    """Atoms of each element, hydrogens included."""
    found = dict.fromkeys(elements, 0)
    for atom in mol.GetAtoms():
        for symbol, more in ((atom.GetSymbol(), 1), ("H", atom.GetTotalNumHs())):
            if symbol in found:
                found[symbol] += more
    return list(found.values())


def convert(
    smiles: Sequence[str], features: MoleculeFeatures, canonical: bool, elements: Sequence[str]
) -> tuple[Any, ...]:
    """The work on one chunk, in a worker: arrays of all its molecules one after another, and what is odd."""
    from rdkit import Chem, rdBase

    good: list[int] = []
    bad: list[tuple[int, str]] = []
    noted: list[tuple[int, str]] = []
    spelt: list[str] = []
    counts: list[list[int]] = []
    made: list[tuple[NDArray[Any], ...]] = []
    read = _reader(features, canonical or bool(elements))
    with rdBase.BlockLogs():
        for i, text in enumerate(smiles):
            mol = read(text) if spelled(text) else None
            if mol is None or not mol.GetNumAtoms():
                bad.append((i, _reason(text.strip())))
                continue
            try:
                made.append(features.arrays(mol))
            except GraphError as error:
                bad.append((i, f"not a molecule: {error}"))
                continue
            good.append(i)
            if len(made[-1][0]) == 1:
                noted.append((i, "single atom"))
            if "." in text and (pieces := len(Chem.GetMolFrags(mol))) > 1:
                noted.append((i, f"disconnected: {pieces} pieces"))
            if canonical:
                spelt.append(Chem.MolToSmiles(mol))
            if elements:
                counts.append(_counts(mol, elements))
    if not made:
        return None, good, bad, noted, spelt, counts
    vertices, pairs, edges = (list(column) for column in zip(*made, strict=True))
    arrays = (
        np.array([len(v) for v in vertices]),
        np.array([len(p) for p in pairs]),
        np.concatenate(pairs),
        np.concatenate(vertices),
        np.concatenate(edges),
    )
    return arrays, good, bad, noted, spelt, counts


@contextmanager
def _bar(total: int, what: str, show: bool) -> Iterator[Callable[[int], None]]:
    """A progress bar on standard error, if that is a terminal; gives the function that moves it on."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not (show and console.is_terminal)) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done: progress.advance(task, done)


def pack_molecules(
    smiles: Sequence[str],
    features: MoleculeFeatures | str = "element",
    *,
    hydrogens: bool = False,
    canonical: bool = False,
    elements: Sequence[str] = (),
    n_jobs: int | None = None,
    progress: bool = True,
    name: str | None = None,
) -> Molecules:
    """Make graphs of SMILES, in as many processes as there are cores (``n_jobs``), a few thousand in this one.

    Example:
        >>> made = pack_molecules(["CCO", "C1CC", "[Na+].[Cl-]"])
        >>> made.pack, made.good.tolist(), made.bad, made.noted
        (Pack(graphs=2, vertices=5, features=14), [0, 2], [(1, 'not a SMILES: its spelling is wrong')], \
[(2, 'disconnected: 2 pieces')])

    """
    chosen = molecule_features(features, hydrogens) if isinstance(features, str) else features
    chunks = [smiles[i : i + _CHUNK] for i in range(0, len(smiles), _CHUNK)]
    packs, good, bad, noted, spelt, counts = [], [], [], [], [], []
    with _bar(len(smiles), f"{name or 'molecules'}: SMILES to graphs", progress) as advance:
        for k, (arrays, *rest) in enumerate(_each(chunks, chosen, canonical, elements, n_jobs)):
            first = k * _CHUNK
            good += [first + i for i in rest[0]]
            bad += [(first + i, why) for i, why in rest[1]]
            noted += [(first + i, why) for i, why in rest[2]]
            spelt += rest[3]
            counts += rest[4]
            if arrays is not None:
                packs.append(Pack.of_edges(*arrays))
            advance(len(chunks[k]))
    if not packs:
        why = f", the first because: {bad[0][1]}" if bad else ""
        raise DataError(f"{name or 'molecules'}: none of the {len(smiles)} rows is a molecule{why}")
    table = np.array(counts, dtype=np.int64).reshape(len(good), len(elements))
    return Molecules(Pack.join(packs, name), np.array(good, dtype=np.int64), bad, noted, spelt, table)


def _each(
    chunks: Sequence[Sequence[str]],
    features: MoleculeFeatures,
    canonical: bool,
    elements: Sequence[str],
    n_jobs: int | None,
) -> Iterable[tuple[Any, ...]]:
    """The converted chunks, in order."""
    from joblib import Parallel, cpu_count, delayed

    jobs = cpu_count() if n_jobs is None else n_jobs
    if jobs == 1 or len(chunks) * _CHUNK <= _SERIAL:
        return (convert(chunk, features, canonical, elements) for chunk in chunks)
    # joblib's processes, unlike those of the standard library, do not run the user's script once more.
    work = Parallel(n_jobs=jobs, return_as="generator", batch_size=1)
    done: Iterable[tuple[Any, ...]] = work(delayed(convert)(chunk, features, canonical, elements) for chunk in chunks)
    return done


def read_molecules(
    path: str | Path,
    name: str | None = None,
    *,
    smiles_column: str | None = None,
    target_columns: str | Iterable[str] | None = None,
    weight_column: str | None = None,
    group_column: str | None = None,
    split_column: str | None = None,
    id_column: str | None = None,
    task: Task | None = None,
    features: MoleculeFeatures | str = "element",
    hydrogens: bool = False,
    strict: bool = False,
    delimiter: str | None = None,
    header: bool | None = None,
    n_jobs: int | None = None,
    progress: bool = True,
) -> Dataset:
    """Read a table of molecules: CSV, TSV, Parquet, SDF or SMILES, also with ``.gz``.

    Columns that are not named are found by inspection (:func:`ccn.datasets.schema.find_schema`). Rows that cannot
    be used are left out and said in ``dropped``; what is odd about rows that are kept is said in ``noted``.

    Args:
        path: the file.
        name: what the data set is called; by default after its file.
        smiles_column, target_columns: what is read and what is learned; blanks in a target are missing values.
        weight_column, group_column, split_column, id_column: carried along.
        task: by default classification where every target has a few whole numbers or words, else regression.
        features: set of atom and bond features; see :func:`ccn.chemistry.properties.molecule_features`.
        hydrogens: make hydrogens vertices.
        strict: raise at the first row that loses anything or contradicts another.
        delimiter, header: of a text table; by default found.
        n_jobs: processes; by default as many as cores.
        progress: show a bar on a terminal.

    """
    table = open_table(path, delimiter=delimiter, header=header)
    schema = find_schema(
        table,
        smiles_column=smiles_column,
        target_columns=target_columns,
        weight_column=weight_column,
        group_column=group_column,
        split_column=split_column,
        id_column=id_column,
    )
    chosen = molecule_features(features, hydrogens) if isinstance(features, str) else features
    name = name or Path(path).name.removesuffix(".gz").rsplit(".", 1)[0]
    data, _ = dataset_of_molecules(
        table, schema, chosen, name, task=task, n_jobs=n_jobs, progress=progress, duplicates=True
    )
    return check_strict(data, strict, str(path))


def dataset_of_molecules(
    table: Table,
    schema: Schema,
    features: MoleculeFeatures,
    name: str,
    *,
    task: Task | None = None,
    duplicates: bool = False,
    elements: Sequence[str] = (),
    n_jobs: int | None = None,
    progress: bool = True,
) -> tuple[Dataset, NDArray[np.int64]]:
    """The data set in a table, and (graphs, elements) the atoms of each element asked for."""
    dropped: list[Remark] = []
    noted: list[Remark] = []
    place = {c: find_column(table, c, "schema") for c in (schema.smiles, *schema.targets)}
    carried = {
        what: find_column(table, column, what)
        for what in ("weight", "group", "split", "id")
        if (column := getattr(schema, what)) is not None
    }
    rows: list[int] = []
    smiles: list[str] = []
    kept: dict[str, list[str]] = {what: [] for what in carried}
    targets: list[list[Any]] = [[] for _ in schema.targets]
    for row in itertools.chain.from_iterable(table.chunks()):
        if row.note:
            noted.append(Remark(row.number, table_text(row.cells), row.note))
        fault, value = row.fault, table_text(row.cells) if row.fault else ""
        if not fault and "weight" in carried:
            value = row.cells[carried["weight"]]
            weight = number(value)
            fault = "" if weight is not None and weight > 0 else f"weight is not a positive number: {schema.weight}"
        if fault:
            dropped.append(Remark(row.number, value, fault))
            continue
        read, wrong = _read_targets(row.number, [row.cells[place[t]] for t in schema.targets], schema)
        if wrong and all(v is None for v in read):
            dropped.extend(wrong)
            continue
        noted.extend(wrong)
        for column, one in zip(targets, read, strict=True):
            column.append(one)
        rows.append(row.number)
        smiles.append(row.cells[place[schema.smiles]].strip())
        for what, i in carried.items():
            kept[what].append(row.cells[i])
    made = None
    if smiles:
        try:
            made = pack_molecules(
                smiles,
                features,
                canonical=duplicates,
                elements=elements,
                n_jobs=n_jobs,
                progress=progress,
                name=name,
            )
        except DataError:
            bad = [(i, _silent_reason(s)) for i, s in enumerate(smiles)]
        else:
            bad = made.bad
            noted += [Remark(rows[i], smiles[i], why) for i, why in made.noted]
        dropped += [Remark(rows[i], smiles[i], why) for i, why in bad]
    good = np.zeros(0, dtype=np.int64) if made is None else made.good
    number_of = np.array(rows, dtype=np.int64)[good]
    columns = [[column[i] for i in good] for column in targets]
    if made is not None and duplicates:
        noted += _contradictions(made.canonical, columns, number_of, [smiles[i] for i in good])
    dropped.sort(key=lambda r: r.row)
    if made is None:
        first = f"; {dropped[0]}" if dropped else ""
        raise DataError(f"{table.path}: no good row among {len(dropped)}{first}")
    values, found, classes = encode_targets(columns, schema.targets, len(good), task, str(table.path))
    some = set(number_of.tolist())
    return (
        Dataset(
            name,
            made.pack,
            values,
            schema.targets,
            found,
            classes,
            smiles=Strings.of(smiles[i] for i in good),
            ids=_strings(kept, "id", good),
            groups=_strings(kept, "group", good),
            splits=_strings(kept, "split", good),
            weights=np.array([float(kept["weight"][i]) for i in good]) if "weight" in kept else None,
            rows=number_of,
            dropped=tuple(dropped),
            noted=tuple(sorted((r for r in noted if r.row in some), key=lambda r: r.row)),
            vertex_names=features.vertex_names,
            edge_names=features.edge_names,
            options={
                "features": features.name,
                "hydrogens": features.hydrogens,
                "smiles_column": schema.smiles,
                "target_columns": list(schema.targets),
            },
        ),
        made.counts,
    )


def table_text(cells: Sequence[str]) -> str:
    """A row as a report shows it."""
    return ",".join(cells).strip(",")


def _silent_reason(smiles: str) -> str:
    from rdkit import rdBase

    with rdBase.BlockLogs():
        return _reason(smiles)


def _strings(kept: dict[str, list[str]], what: str, good: NDArray[np.int64]) -> Strings | None:
    return Strings.of(kept[what][i] for i in good) if what in kept else None


def _read_targets(row: int, cells: Sequence[str], schema: Schema) -> tuple[list[Any], list[Remark]]:
    """The values of the targets in one row, None where missing, and a remark on each cell that is not what it should
    be.
    """
    out: list[Any] = []
    wrong = []
    for name, cell in zip(schema.targets, cells, strict=True):
        if is_missing(cell):
            out.append(None)
        elif name in schema.words:
            out.append(cell.strip())
        else:
            out.append(number(cell))
            if out[-1] is None:
                wrong.append(Remark(row, cell, f"{NOT_A_NUMBER}: {name}"))
    return out, wrong


def _contradictions(
    canonical: Sequence[str], columns: Sequence[Sequence[Any]], rows: NDArray[np.int64], smiles: Sequence[str]
) -> list[Remark]:
    """A remark on each row whose molecule stands in an earlier row with other targets."""
    first: dict[str, int] = {}
    out = []
    for i, key in enumerate(canonical):
        j = first.setdefault(key, i)
        if j != i and any(c[i] != c[j] for c in columns if c[i] is not None and c[j] is not None):
            out.append(Remark(int(rows[i]), smiles[i], f"{CONTRADICTION}: the molecule of row {rows[j]}"))
    return out

"""Molecules: SMILES to packed graphs, on all cores, with the reason for each that is not a molecule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ccn.chemistry.fingerprints import fingerprint_row
from ccn.chemistry.groups import group_marks
from ccn.chemistry.properties import MoleculeFeatures, Tables, molecule_features
from ccn.chemistry.records import LARGEST
from ccn.chemistry.smiles import MAX_ATOMS, flat_reader, quick_reader, refusal, why_unreadable
from ccn.chemistry.standardise import Standard, check_standard, standardised
from ccn.errors import DataError, GraphError
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Int
from ccn.progress import progress as show_progress

__all__ = ["Molecules", "convert", "convert_all", "pack_molecules"]


@dataclass(frozen=True)
class Molecules:
    """SMILES as graphs.

    Attributes:
        pack: the graphs of those that are molecules.
        good: (graphs,) the position of each among the SMILES given.
        bad, noted: (position, reason) of those that are not, and of those that are unusual.
        canonical: canonical SMILES of each graph, if requested.
        counts: (graphs, elements) atoms of each element requested, hydrogens included.
    """

    pack: Pack
    good: Int
    bad: list[tuple[int, str]]
    noted: list[tuple[int, str]]
    canonical: list[str]
    counts: Int


def _reader(features: MoleculeFeatures, known: bool) -> Callable[[str], Any]:
    """From SMILES to molecules about which RDKit finds out what is needed; ``known``: all that it can."""
    from rdkit import Chem

    if known or features.fingerprints or features.groups or (features.perceived and features.stereo):
        return Chem.MolFromSmiles
    return flat_reader() if features.perceived else quick_reader()


def _counts(mol: Any, elements: Sequence[str]) -> list[int]:
    """Atoms of each element, hydrogens included."""
    count = Counter(atom.GetSymbol() for atom in mol.GetAtoms())
    count["H"] += sum(atom.GetTotalNumHs() for atom in mol.GetAtoms())
    return [count[element] for element in elements]


def _molecule(text: str, read: Callable[[str], Any], max_atoms: int, standardise: Standard | None) -> tuple[Any, Any]:
    """The molecule as given and in its standard form; an error says why there is none."""
    given = None if refusal(text, max_atoms) else read(text)
    if given is None or not given.GetNumAtoms():
        raise GraphError(why_unreadable(text, max_atoms))
    return given, given if standardise is None else standardised(given, standardise)


def _featurised(mol: Any, features: MoleculeFeatures, stored: bool) -> tuple[Any, Any]:
    """The molecule to be ``stored``, or its arrays, and the row of features of the molecule, None without."""
    try:
        vertices: Any = features.molecule(mol) if stored else features.arrays(mol)
        return vertices, fingerprint_row(features.fingerprints, mol) if features.fingerprints else None
    except GraphError as error:
        raise GraphError(f"not a molecule: {error}") from None


def _remarks(text: str, given: Any, mol: Any, atoms: int) -> Iterator[str]:
    """What is unusual about a molecule: given as this text, ``mol`` in its standard form."""
    from rdkit import Chem

    if atoms == 1:
        yield "single atom"
    if "." in text and (pieces := len(Chem.GetMolFrags(mol))) > 1:
        yield f"disconnected: {pieces} pieces"
    if mol is not given and (now := Chem.MolToSmiles(mol)) != Chem.MolToSmiles(given):
        yield f"standardised: {now}"


def convert(
    smiles: Sequence[str],
    features: MoleculeFeatures,
    canonical: bool = False,
    elements: Sequence[str] = (),
    max_atoms: int = MAX_ATOMS,
    standardise: Standard | None = None,
) -> Molecules:
    """The graphs of some SMILES, made in this process; those of more than ``max_atoms`` atoms are refused.

    With ``standardise`` they are those of the standard form, which is noted where it is another molecule.
    """
    from rdkit import Chem, rdBase

    good: list[int] = []
    bad: list[tuple[int, str]] = []
    noted: list[tuple[int, str]] = []
    spellings: list[str] = []
    counts: list[list[int]] = []
    arrays, stored, rows, groups = [], [], [], []
    complete: dict[int, Any] = {}  # molecules of which more may be needed than what is stored
    read = _reader(features, bool(canonical or elements or standardise))
    together, stereo = features.stored and features.perceived, features.stereo
    with rdBase.BlockLogs():
        for i, text in enumerate(smiles):
            try:
                given, mol = _molecule(text, read, max_atoms, standardise)
                vertices, row = _featurised(mol, features, together)
            except GraphError as error:
                bad.append((i, str(error)))
                continue
            if together:
                stored.append(vertices.ToBinary(0))
                atoms = vertices.GetNumAtoms()
                marked = stereo and (standardise is not None or any(mark in text for mark in "@/\\|"))
                if marked or atoms > LARGEST:
                    complete[len(good)] = vertices
            else:
                arrays.append(vertices)
                atoms = len(vertices[0])
            if features.fingerprints:
                rows.append(row)
            if features.groups:
                groups.append(group_marks(features.molecule(mol)))
            good.append(i)
            noted += [(i, remark) for remark in _remarks(text, given, mol, atoms)]
            if canonical:
                spellings.append(Chem.MolToSmiles(mol))
            if elements:
                counts.append(_counts(given, elements))

        def molecule(number: int) -> Any:
            """A molecule once more, as its record lacks something."""
            if number in complete:
                return complete[number]
            mol = Chem.MolFromSmiles(smiles[good[number]])
            return features.molecule(mol if standardise is None else standardised(mol, standardise))

        made = Tables.of(arrays) if arrays else features.tables(stored, molecule)
    pack = Pack.of_edges(*made)
    if rows:
        pack = pack.with_graph_features(np.stack(rows))
    if groups:
        pack = pack.with_groups(np.concatenate(groups))
    table = np.array(counts, dtype=np.int64).reshape(len(good), len(elements))
    return Molecules(pack, np.array(good, dtype=np.int64), bad, noted, spellings, table)


def convert_all(
    smiles: Sequence[str],
    features: MoleculeFeatures,
    *,
    n_jobs: int | None = None,
    progress: bool = True,
    name: str | None = None,
    chunk: int = 1000,
    serial: int = 4000,
    **options: Any,
) -> Molecules:
    """The graphs of many SMILES, ``chunk`` at a time, in ``n_jobs`` processes (by default one per core).

    The other options are those of :func:`convert`. Up to ``serial`` SMILES are converted in this process, where
    starting workers would take longer.
    """
    from joblib import Parallel, cpu_count, delayed

    check_standard(options.get("standardise"))
    chunks = [smiles[i : i + chunk] for i in range(0, len(smiles), chunk)]
    jobs = cpu_count() if n_jobs is None else n_jobs
    made: Iterable[Molecules]
    if jobs == 1 or len(smiles) <= serial:
        made = (convert(some, features, **options) for some in chunks)
    else:
        # joblib's processes, unlike those of the standard library, do not run the user's script once more.
        workers = Parallel(n_jobs=jobs, return_as="generator", batch_size=1)
        made = workers(delayed(convert)(some, features, **options) for some in chunks)
    parts: list[Molecules] = []
    with show_progress(f"{name or 'molecules'}: SMILES to graphs", len(smiles), shown=progress) as update:
        for part in made:
            parts.append(part)
            update(min(len(parts) * chunk, len(smiles)))
    return _join(parts or [convert([], features, **options)], chunk, name)


def _join(parts: Sequence[Molecules], chunk: int, name: str | None) -> Molecules:
    """The parts one after another, each of ``chunk`` SMILES."""
    first = [i * chunk for i in range(len(parts))]
    packs = [part.pack for part in parts if len(part.pack)] or [parts[0].pack]
    return Molecules(
        Pack.join(packs, name),
        np.concatenate([k + part.good for k, part in zip(first, parts, strict=True)]),
        [(k + i, why) for k, part in zip(first, parts, strict=True) for i, why in part.bad],
        [(k + i, why) for k, part in zip(first, parts, strict=True) for i, why in part.noted],
        [text for part in parts for text in part.canonical],
        np.concatenate([part.counts for part in parts]),
    )


def pack_molecules(
    smiles: Sequence[str], features: MoleculeFeatures | str = "element", *, hydrogens: bool = False, **options: Any
) -> Molecules:
    """The graphs of SMILES; the options are those of :func:`convert_all`. An error if none of them is a molecule.

    Example:
        >>> made = pack_molecules(["CCO", "C1CC", "[Na+].[Cl-]"])
        >>> made.pack, made.good.tolist(), made.noted
        (Pack(graphs=2, vertices=5, features=14), [0, 2], [(2, 'disconnected: 2 pieces')])
        >>> made.bad
        [(1, 'not a SMILES: ring 1 at character 2 is not closed')]
    """
    made = convert_all(smiles, molecule_features(features, hydrogens), **options)
    if not len(made.pack):
        why = f", the first because: {made.bad[0][1]}" if made.bad else ""
        raise DataError(f"{options.get('name') or 'molecules'}: none of the {len(smiles)} rows is a molecule{why}")
    return made

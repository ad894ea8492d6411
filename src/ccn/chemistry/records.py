"""Atoms and bonds of many molecules at once, read from the bytes in which RDKit stores a molecule.

To ask RDKit for one property of one atom is a call from Python: a molecule of thirty atoms takes some four hundred of
them, which is as long as it takes RDKit to read its SMILES. ``Mol.ToBinary`` writes everything in one call, some ten
bytes an atom, and here the records of thousands of molecules are taken apart by array operations.

    header   20 bytes: a constant, the version of the format
    counts   atoms and bonds (int32), two bytes
    atom     number and flags (bytes), which fields follow (int32), the fields (bytes; the isotope int32)
    tag
    bond     begin, end and flags (bytes), the fields
    tag      how many rings (int32)
    ring     its size and its atoms (bytes)
    tag

Where a record begins depends on the one before. So step k looks at the k-th record of every molecule that has as many,
all in one array operation, and notes where it begins; then each field is read for all atoms or bonds at once. A
molecule that has anything else in it (more than 255 atoms, query atoms, a format of another version) is not decoded:
whoever calls asks RDKit for each property of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

__all__ = ["FORMATS", "HYBRIDISATIONS", "LARGEST", "ORDERS", "Records", "decode"]

FORMATS = ((16, 1), (16, 2), (16, 3), (16, 4))
"""Versions of the format that are read: those of RDKit from 2024 to 2026."""
HYBRIDISATIONS = ("UNSPECIFIED", "S", "SP", "SP2", "SP3", "SP2D", "SP3D", "SP3D2", "OTHER")
"""RDKit's names of the hybridisations, by number."""
ORDERS = {1: 1.0, 2: 2.0, 3: 3.0, 4: 4.0, 12: 1.5, 17: 1.0}
"""The orders of bonds by RDKit's number of their type: single, double, triple, quadruple, aromatic, dative."""

LARGEST = 255
"""Atoms of a molecule that is decoded: up to there their numbers are bytes."""

Int = NDArray[np.int64]
Bytes = NDArray[np.uint8]

_MAGIC = bytes.fromhex("efbeadde00000000")
_HEADER, _FIRST = 20, 30  # bytes before the counts, and before the first atom
_ATOMS, _BONDS, _RINGS, _BEHIND = 0x01, 0x0B, 0x42, 0x17  # tags before atoms, bonds and rings, and behind them
_PADDING = 1 << 10  # behind the last record; no record is longer
_AROMATIC, _FIXED = 0x40, 0x20  # flags of an atom; fixed: it has no hydrogens but the explicit ones
_CHARGE, _CHIRAL, _HYBRID, _EXPLICIT, _IMPLICIT = 0x02, 0x04, 0x08, 0x10, 0x40  # its fields
_CONJUGATED, _TYPE, _DIRECTION, _STEREO = 0x20, 0x08, 0x04, 0x02  # flags of a bond
_PLAIN_ATOM = np.uint8(_AROMATIC | _FIXED)
_PLAIN_BOND = np.uint8(_AROMATIC | _CONJUGATED | _TYPE | _DIRECTION | _STEREO)
_SP3 = HYBRIDISATIONS.index("SP3")  # where nothing is stored


@dataclass(frozen=True)
class Records:
    """What is stored of some molecules, one after another.

    Attributes:
        decoded: (given,) which of those given could be read; the rest is about these alone.
        atoms, bonds: (molecules,) how many each has.
        number, charge, hydrogens, hybridisation, aromatic, degree, ring, chiral, isotope: (all atoms,) the atomic
            number, the formal charge, hydrogens with those that are vertices, the place in :data:`HYBRIDISATIONS`,
            whether it is aromatic, neighbours, the size of the smallest ring or 0, RDKit's chiral tag, the isotope.
        pairs: (all bonds, 2) numbers of atoms within the molecule.
        order, conjugated, stereo: (all bonds,) its type and its stereo tag as RDKit numbers them, whether it is
            conjugated.
        around: (pairs of atoms next to each other in a ring, 2) numbers among all atoms.
    """

    decoded: NDArray[np.bool_]
    atoms: Int
    bonds: Int
    number: Int
    charge: Int
    hydrogens: Int
    hybridisation: Int
    aromatic: Int
    degree: Int
    ring: Int
    chiral: Int
    isotope: Int
    pairs: Int
    order: Int
    conjugated: Int
    stereo: Int
    around: Int

    @property
    def bond_ring(self) -> Int:
        """(all bonds,) whether it lies in a ring."""
        every = _among_all(self.pairs, self.atoms, self.bonds), self.around
        here, around = (np.sort(pairs, axis=1) @ [len(self.number), 1] for pairs in every)
        return np.isin(here, around).astype(np.int64)


def _among_all(pairs: Int, atoms: Int, bonds: Int) -> Int:
    """Numbers of atoms within molecules as numbers among all of them."""
    return pairs + np.repeat(np.cumsum(atoms) - atoms, bonds)[:, None]


def _counted(bits: int) -> Int:
    """For each byte, how many of some bits it has."""
    return np.array([(byte & bits).bit_count() for byte in range(256)], dtype=np.int64)


_ATOM_LENGTH = 6 + _counted(0xFE)
_BOND_LENGTH = 3 + _counted(_TYPE | _DIRECTION)
_BELOW = {1 << bit: 6 + _counted((1 << bit) - 2) for bit in range(1, 8)}  # where a field begins


def _atom_length(data: Bytes, at: Int) -> Int:
    return np.asarray(_ATOM_LENGTH[data[at + 2]] + 4 * (data[at + 3] & 1))


def _bond_length(data: Bytes, at: Int) -> Int:
    flags = data[at + 2]
    length: Int = _BOND_LENGTH[flags]
    marked = np.flatnonzero(flags & _STEREO)  # with the tag, and a list of atoms
    length[marked] += 2 + data[at[marked] + length[marked] + 1]
    return length


def _ring_length(data: Bytes, at: Int) -> Int:
    return data[at].astype(np.int64) + 1


def _walk(data: Bytes, first: Int, counts: Int, length: Callable[[Bytes, Int], Int]) -> tuple[Int, Int, Int]:
    """Where ``counts[i]`` records from ``first[i]`` on begin: their molecules, their places, and the end of each i."""
    order = np.argsort(-counts, kind="stable")  # so that those with a k-th record always come first
    end, most = first[order], int(counts.max(initial=0))
    places = np.empty((len(first), most), dtype=np.int64)
    for k, live in enumerate(np.searchsorted(-counts[order], -np.arange(most)).tolist()):
        at = places[:live, k] = np.minimum(end[:live], len(data) - _PADDING)  # beyond it only what is not a record
        end[:live] = at + length(data, at)
    back = np.argsort(order)
    there = np.arange(most) < counts[:, None]
    return np.repeat(np.arange(len(first)), counts), places[back][there], end[back]


def _int32(data: Bytes, at: Int) -> Int:
    return np.ascontiguousarray(data[at[:, None] + np.arange(4)]).view("<i4")[:, 0].astype(np.int64)


def _headers() -> set[bytes]:
    return {_MAGIC + b"".join(part.to_bytes(4, "little") for part in (*version, 0)) for version in FORMATS}


def decode(stored: Sequence[bytes]) -> Records:
    """What is stored of molecules, as ``Mol.ToBinary(0)`` gives it.

    Example:
        >>> from rdkit import Chem
        >>> records = decode([Chem.MolFromSmiles(smiles).ToBinary(0) for smiles in ("CO", "C#N")])
        >>> records.number.tolist(), records.hydrogens.tolist(), records.order.tolist()
        ([6, 8, 6, 7], [3, 1, 1, 0], [1, 3])
    """
    known = _headers()
    good = np.array([blob[:_HEADER] in known and len(blob) > _FIRST for blob in stored], dtype=bool)
    while True:  # once more without those that have something else in them
        records = _decode([blob for blob, ok in zip(stored, good, strict=True) if ok])
        if records.decoded.all():
            return replace(records, decoded=good)
        good[np.flatnonzero(good)[~records.decoded]] = False


def _decode(stored: Sequence[bytes]) -> Records:
    """The records, right for those that are decoded."""
    lengths = np.array([len(blob) for blob in stored], dtype=np.int64)
    data = np.frombuffer(b"".join(stored) + bytes(2 * _PADDING), dtype=np.uint8)
    begin = np.cumsum(lengths) - lengths
    atoms, bonds = (_int32(data, begin + at) for at in (_HEADER, _HEADER + 4))
    fine = (data[begin + _FIRST - 1] == _ATOMS) & (atoms <= LARGEST)
    atoms, bonds = np.where(fine, atoms, 0), np.where(fine, bonds, 0)

    def only(tag: int, where: Int, among: Int, odd: NDArray[np.bool_]) -> None:
        """Note which molecules have no odd record, and the tag behind the last one."""
        fine[(data[where] != tag) | (np.bincount(among[odd], minlength=len(stored)) > 0)] = False

    of, at, end = _walk(data, begin + _FIRST, atoms, _atom_length)
    flags, fields, more = data[at + 1], data[at + 2], data[at + 3]
    odd = ((flags & ~_PLAIN_ATOM) | (fields & 1) | (more & 0xFE) | data[at + 4] | data[at + 5]) > 0
    only(_BONDS, end, of, odd)

    def field(bit: int, otherwise: int = 0) -> Int:
        return np.where(fields & bit, data[at + _BELOW[bit][fields]], otherwise).astype(np.int64)

    number, charge = data[at].astype(np.int64), field(_CHARGE).astype(np.int8).astype(np.int64)
    hydrogens = field(_EXPLICIT) + np.where(flags & _FIXED, 0, field(_IMPLICIT))
    isotope = np.where(more & 1, _int32(data, at + _ATOM_LENGTH[fields]), 0)

    among, bond, end = _walk(data, end + 1, np.where(fine, bonds, 0), _bond_length)
    marks, pairs = data[bond + 2], data[bond[:, None] + np.arange(2)].astype(np.int64)
    order = np.where(marks & _TYPE, data[bond + 3], 1).astype(np.int64)
    stereo = np.where(marks & _STEREO, data[bond + _BOND_LENGTH[marks]], 0).astype(np.int64)
    odd = (marks & ~_PLAIN_BOND > 0) | (pairs >= atoms[among, None]).any(axis=1) | ~np.isin(order, list(ORDERS))
    only(_RINGS, end, among, odd)

    rings = np.where(fine, _int32(data, end + 1), 0)
    within, ring, end = _walk(data, end + 5, rings, _ring_length)
    size = data[ring].astype(np.int64)
    only(_BEHIND, end, within, size == 0)
    if not fine.all():
        nothing = np.zeros(0, dtype=np.int64)
        return Records(fine, *[nothing] * 16)

    first, total = np.cumsum(atoms) - atoms, len(number)
    every = _among_all(pairs, atoms, bonds)
    light = np.bincount(every[:, ::-1].ravel()[number[every.ravel()] == 1], minlength=total)  # hydrogens as neighbours
    last, sizes = np.cumsum(size) - 1, np.repeat(size, size)
    place = np.arange(len(sizes))
    members = first[np.repeat(within, size)] + data[np.repeat(ring + size - last, size) + place]
    after = place + 1
    after[last] = last - size + 1
    smallest, falling = np.zeros(total, dtype=np.int64), np.argsort(-sizes, kind="stable")
    smallest[members[falling]] = sizes[falling]  # of several, the last assignment stays
    return Records(
        decoded=fine,
        atoms=atoms,
        bonds=bonds,
        number=number,
        charge=charge,
        hydrogens=hydrogens + light,
        hybridisation=field(_HYBRID, _SP3),
        aromatic=(flags & _AROMATIC > 0).astype(np.int64),
        degree=np.bincount(every.ravel(), minlength=total),
        ring=smallest,
        chiral=field(_CHIRAL),
        isotope=isotope,
        pairs=pairs,
        order=order,
        conjugated=(marks & _CONJUGATED > 0).astype(np.int64),
        stereo=stereo,
        around=np.stack([members, members[after]], axis=1),
    )

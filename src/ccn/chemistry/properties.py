"""Features of atoms and bonds: sets of properties, each read from RDKit and written as a few columns.

A set is chosen by name: ``element`` is the paper's input and what :func:`ccn.graphs.exchange.from_rdkit` gives,
``atoms`` adds charges, hydrogens, rings and the like, ``compact`` has the same atoms with the bond order alone, and
``full`` adds stereochemistry, ring sizes and isotopes to ``compact``.
For your own set make a :class:`MoleculeFeatures`, pass it wherever a name is accepted, and put it into :data:`SETS`
under its name if files that mention it are to be read back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from operator import methodcaller
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ccn.chemistry.fingerprints import FINGERPRINTS
from ccn.chemistry.records import HYBRIDISATIONS, ORDERS, Records, decode
from ccn.errors import ConfigurationError, GraphError

__all__ = ["BOND_ORDERS", "ELEMENTS", "SETS", "MoleculeFeatures", "Property", "Tables", "molecule_features"]

ELEMENTS = ("C", "N", "O", "S", "F", "Cl", "Br", "I", "P", "B", "Si", "Se", "H")
"""Elements with their own column; one more column stands for any other."""

BOND_ORDERS = (1.0, 2.0, 3.0, 1.5)
"""Bond orders with their own column: single, double, triple, aromatic."""

_DENSE = 256  # atoms up to which a matrix of all pairs is quicker than a list of bonds
_CIP_STEPS = 100_000  # more are needed by symmetrical cages, whose labels would take seconds
_KEPT = 4096  # rows cached; one-hot sets need a few hundred
_Arrays = tuple[NDArray[Any], NDArray[np.int64], NDArray[Any]]


@dataclass(frozen=True)
class Property:
    """One property of an atom or a bond, as columns.

    Attributes:
        name: prefix of its columns' names.
        read: a function from an RDKit atom or bond to its value, or the name of the method that gives it.
        values: one column per value, one-hot. Without them there is one column, the value as a number.
        other: a further column for values not listed; without it such a value is all zeros.
        perceived: it can only be read after RDKit has perceived rings, aromaticity and hydrogens.

    Example:
        >>> charge = Property("charge", "GetFormalCharge", values=(-1, 0, 1))
        >>> charge.columns, charge.row(1)
        (('charge=-1', 'charge=0', 'charge=1', 'charge=other'), [0.0, 0.0, 1.0, 0.0])
    """

    name: str
    read: Callable[[Any], Any] | str
    values: tuple[Any, ...] = ()
    other: bool = True
    perceived: bool = True

    @property
    def reader(self) -> Callable[[Any], Any]:
        """From an RDKit atom or bond to its value."""
        return methodcaller(self.read) if isinstance(self.read, str) else self.read

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        if not self.values:
            return (self.name,)
        return tuple(f"{self.name}={v}" for v in (*self.values, *(("other",) if self.other else ())))

    def row(self, value: Any) -> list[float]:
        """The columns of one value."""
        if not self.values:
            return [float(value)]
        known = [float(v == value) for v in self.values]
        return [*known, float(not any(known))] if self.other else known


class _Rows(dict[tuple[Any, ...], bytes]):
    """From the values of one atom or bond to its row, as bytes; made when first needed."""

    def __init__(self, properties: Sequence[Property]) -> None:
        self.properties = properties
        self.readers = [p.reader for p in properties]
        self.width = sum(len(p.columns) for p in properties)
        # One-hot columns take a byte each, which is what makes stores of many molecules small.
        self.dtype = np.dtype(np.uint8 if all(p.values for p in properties) else np.float32)

    def __missing__(self, values: tuple[Any, ...]) -> bytes:
        row = [x for p, value in zip(self.properties, values, strict=True) for x in p.row(value)]
        made = np.array(row, dtype=self.dtype).tobytes()
        if len(self) < _KEPT:
            self[values] = made
        return made

    def of(self, things: Sequence[Any]) -> NDArray[Any]:
        """(things, width); property by property."""
        values = zip(*(map(read, things) for read in self.readers), strict=True)
        joined = b"".join(map(self.__getitem__, values))
        # A copy, since an array over bytes is read-only.
        return np.frombuffer(joined, dtype=self.dtype).reshape(len(things), self.width).copy()


class Tables(NamedTuple):
    """What :meth:`MoleculeFeatures.arrays` gives, of many molecules one after another.

    Attributes:
        atoms, bonds: (molecules,) how many each has.
        pairs, features, edge_features: (all bonds, 2), (all atoms, width), (all bonds, width).
    """

    atoms: NDArray[np.int64]
    bonds: NDArray[np.int64]
    pairs: NDArray[np.int64]
    features: NDArray[Any]
    edge_features: NDArray[Any]

    @classmethod
    def of(cls, found: Sequence[_Arrays]) -> Tables:
        """From the arrays of at least one molecule."""
        features, pairs, edges = zip(*found, strict=True)
        atoms, bonds = (np.array([len(a) for a in of], dtype=np.int64) for of in (features, pairs))
        return cls(atoms, bonds, *(np.concatenate(of) for of in (pairs, features, edges)))

    def split(self) -> Iterator[_Arrays]:
        """The arrays of each molecule."""
        atoms, bonds = (np.cumsum(counts)[:-1] for counts in (self.atoms, self.bonds))
        cut = (np.split(a, at) for a, at in ((self.features, atoms), (self.pairs, bonds), (self.edge_features, bonds)))
        return zip(*cut, strict=True)


@dataclass(frozen=True)
class MoleculeFeatures:
    """A set of properties of atoms and bonds; ``hydrogens=True`` makes all hydrogens vertices.

    Without properties of bonds, edges have no features, and molecules are read faster. ``fingerprints`` names features
    of the molecule as a whole (:data:`ccn.chemistry.fingerprints.FINGERPRINTS`). With ``groups`` graphs also know
    which vertices belong to which functional groups (:data:`ccn.chemistry.groups.GROUPS`), for the scheme of that name.

    Example:
        >>> from rdkit import Chem
        >>> features, edges, edge_features = molecule_features("element").arrays(Chem.MolFromSmiles("C=O"))
        >>> features.shape, edges.tolist(), edge_features.tolist()
        ((2, 14), [[0, 1]], [[0, 1, 0, 0]])
    """

    name: str
    atom: tuple[Property, ...]
    bond: tuple[Property, ...]
    hydrogens: bool = False
    fingerprints: tuple[str, ...] = ()
    groups: bool = False

    def __post_init__(self) -> None:
        if not self.atom:
            raise ConfigurationError(f"molecule features {self.name!r}: name at least one property of atoms")

    @property
    def vertex_names(self) -> tuple[str, ...]:
        """The names of the columns of atoms."""
        return tuple(c for p in self.atom for c in p.columns)

    @property
    def edge_names(self) -> tuple[str, ...]:
        """The names of the columns of bonds."""
        return tuple(c for p in self.bond for c in p.columns)

    @property
    def perceived(self) -> bool:
        """Whether anything is read that RDKit must perceive first."""
        return (
            self.hydrogens
            or self.groups
            or bool(self.fingerprints)
            or any(p.perceived for p in (*self.atom, *self.bond))
        )

    def to_json(self) -> dict[str, Any]:
        """The name and the columns as plain JSON values; :func:`molecule_features` is the inverse."""
        return {
            "name": self.name,
            "hydrogens": self.hydrogens,
            "vertex_names": list(self.vertex_names),
            "edge_names": list(self.edge_names),
            # Of columns without names, their number: a file need not list thousands of them.
            "fingerprints": {
                name: c if isinstance(c := FINGERPRINTS[name].columns, int) else list(c) for name in self.fingerprints
            },
        }

    @cached_property
    def _rows(self) -> tuple[_Rows, _Rows]:
        return _Rows(self.atom), _Rows(self.bond)

    def molecule(self, mol: Any) -> Any:
        """The RDKit molecule whose atoms are the vertices: ``mol``, with its hydrogens if they are wanted."""
        if not self.hydrogens:
            return mol
        from rdkit.Chem import AddHs

        return AddHs(mol)

    def arrays(self, mol: Any) -> _Arrays:
        """Features (atoms, width), edges (bonds, 2) and edge features (bonds, width) of an RDKit molecule.

        Atoms and bonds are in RDKit's order, every bond once; bonds without properties may be in another. Where all
        properties have listed values the features are uint8, else float32.
        """
        atoms, bonds = self._rows
        try:
            mol = self.molecule(mol)
            # By number, which is twice as fast as RDKit's iterators.
            features = atoms.of(list(map(mol.GetAtomWithIdx, range(mol.GetNumAtoms()))))
            if not self.bond and len(features) < _DENSE:
                edges = _edges(mol)
                return features, edges, np.empty((len(edges), 0), dtype=np.uint8)
            listed = list(map(mol.GetBondWithIdx, range(mol.GetNumBonds())))
            pairs = [(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in listed]
            edge_features = bonds.of(listed)
        except RuntimeError as error:
            reason = str(error).strip().splitlines()[0]
            raise GraphError(
                f"RDKit cannot give the features {self.name!r} of this molecule ({reason}); "
                "sanitise it with rdkit.Chem.SanitizeMol first"
            ) from None
        return features, np.array(pairs, dtype=np.int64).reshape(-1, 2), edge_features

    def _records(self) -> list[_Record | None]:
        return [*(_ATOM_RECORDS.get(p.read) for p in self.atom), *(_BOND_RECORDS.get(p.read) for p in self.bond)]

    @property
    def stored(self) -> bool:
        """Whether :meth:`tables` gives the properties; not where one of them is your own, with its own function."""
        return None not in self._records()

    @property
    def stereo(self) -> bool:
        """Whether anything may be read that RDKit only knows once it has looked at the stereochemistry."""
        return any(found is None or found.known is not None for found in self._records())

    def tables(self, stored: Sequence[bytes], molecule: Callable[[int], Any]) -> Tables:
        """The same as :meth:`arrays` of many molecules, from their records (:mod:`ccn.chemistry.records`).

        All properties are :attr:`stored`. ``molecule(i)`` is molecule i; it is asked for what is not in its record.

        Example:
            >>> from rdkit import Chem
            >>> mols = [Chem.MolFromSmiles(smiles) for smiles in ("CO", "C#N")]
            >>> made = molecule_features("compact").tables([mol.ToBinary(0) for mol in mols], mols.__getitem__)
            >>> made.features.shape, made.pairs.tolist(), made.edge_features.tolist()
            ((4, 43), [[0, 1], [0, 1]], [[1.0], [3.0]])
        """
        records = decode(stored)
        where = np.flatnonzero(records.decoded)

        def asked(things: str, counts: NDArray[np.int64], at: NDArray[np.int64]) -> list[Any]:
            """The atoms or bonds of these numbers among all."""
            start = np.cumsum(counts) - counts
            of = np.searchsorted(start, at, side="right") - 1
            return [
                getattr(molecule(i), f"Get{things}WithIdx")(k)
                for i, k in zip(where[of].tolist(), (at - start[of]).tolist(), strict=True)
            ]

        total = int(records.atoms.sum()), int(records.bonds.sum())
        features = _columns(self.atom, _ATOM_RECORDS, records, total[0], partial(asked, "Atom", records.atoms))
        edges = _columns(self.bond, _BOND_RECORDS, records, total[1], partial(asked, "Bond", records.bonds))
        pairs = records.pairs
        if not self.bond:  # in the order of the adjacency matrix
            pairs, of = np.sort(pairs, axis=1), np.repeat(np.arange(len(where)), records.bonds)
            pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0], of))]
        made = Tables(records.atoms, records.bonds, pairs, features, edges)
        if records.decoded.all():
            return made
        rest = made.split()
        return Tables.of([next(rest) if ok else self.arrays(molecule(i)) for i, ok in enumerate(records.decoded)])


def _edges(mol: Any) -> NDArray[np.int64]:
    """The bonds from the adjacency matrix, which RDKit gives in one call."""
    from rdkit.Chem import GetAdjacencyMatrix

    pairs = np.argwhere(GetAdjacencyMatrix(mol))
    return pairs[pairs[:, 0] < pairs[:, 1]]


def _hydrogens(atom: Any) -> Any:
    return atom.GetTotalNumHs(True)  # those that are vertices count too: the same with and without hydrogens=True


def _hybridisation(atom: Any) -> Any:
    return atom.GetHybridization().name


def _labelled(thing: Any) -> Any:
    """The CIP label of an atom or a bond, made for the whole molecule when first needed; an empty string without.

    Labels do not depend on the numbering of atoms, as RDKit's chiral tags do. A molecule that needs too many steps has
    none.
    """
    mol = thing.GetOwningMol()
    if not mol.HasProp("_CIPComputed"):
        from rdkit.Chem.rdCIPLabeler import AssignCIPLabels

        try:
            AssignCIPLabels(mol, maxRecursiveIterations=_CIP_STEPS)
        except RuntimeError:
            for each in (*mol.GetAtoms(), *mol.GetBonds()):
                each.ClearProp("_CIPCode")
            mol.SetBoolProp("_CIPComputed", True, computed=True)
    return thing.GetProp("_CIPCode") if thing.HasProp("_CIPCode") else ""


def _chirality(atom: Any) -> Any:
    return _labelled(atom) if int(atom.GetChiralTag()) else ""


def _stereo(bond: Any) -> Any:
    label = _labelled(bond).upper() if int(bond.GetStereo()) > 1 else ""  # 0 and 1: none, and not known
    return {"E": 1.0, "Z": -1.0}.get(label, 0.0)


def _ring_size(atom: Any) -> Any:
    if not atom.IsInRing():
        return 0
    size = atom.GetOwningMol().GetRingInfo().MinAtomRingSize(atom.GetIdx())
    return size if size < 8 else "8+"


def _has_isotope(atom: Any) -> Any:
    return atom.GetIsotope() > 0


class _Record(NamedTuple):
    """Where the records hold a property: in which array, and the value that a number in it stands for.

    Values of numbers above ``known`` must be asked for.
    """

    array: str
    value: Callable[[int], Any]
    known: int | None = None


def _symbol(number: int) -> Any:
    from rdkit.Chem import GetPeriodicTable

    return GetPeriodicTable().GetElementSymbol(number)


_ATOM_RECORDS: dict[Any, _Record] = {
    "GetSymbol": _Record("number", _symbol),
    "GetAtomicNum": _Record("number", int),
    "GetDegree": _Record("degree", int),
    "GetFormalCharge": _Record("charge", int),
    "GetIsAromatic": _Record("aromatic", bool),
    "IsInRing": _Record("ring", bool),
    _hydrogens: _Record("hydrogens", int),
    _hybridisation: _Record("hybridisation", HYBRIDISATIONS.__getitem__),
    _ring_size: _Record("ring", lambda size: size if size < 8 else "8+"),
    _has_isotope: _Record("isotope", bool),
    _chirality: _Record("chiral", lambda tag: "", known=0),
}
_BOND_RECORDS: dict[Any, _Record] = {
    "GetBondTypeAsDouble": _Record("order", ORDERS.__getitem__),
    "GetIsConjugated": _Record("conjugated", bool),
    "IsInRing": _Record("bond_ring", bool),
    _stereo: _Record("stereo", lambda tag: 0.0, known=1),
}


@lru_cache(maxsize=_KEPT)
def _recorded(p: Property, value: Callable[[int], Any], number: int) -> list[float]:
    """The columns of the value that a number stands for."""
    return p.row(value(number))


def _columns(
    properties: Sequence[Property],
    places: Mapping[Any, _Record],
    records: Records,
    total: int,
    asked: Callable[[NDArray[np.int64]], list[Any]],
) -> NDArray[Any]:
    """(total, width) the columns of the properties; ``asked`` gives the atoms or bonds of some numbers."""
    rows, left = _Rows(properties), 0
    out = np.zeros((total, rows.width), dtype=rows.dtype)
    for p, read in zip(properties, rows.readers, strict=True) if total else ():
        array, value, known = places[p.read]
        numbers, right = getattr(records, array), left + len(p.columns)
        least = int(numbers.min(initial=0))
        present = np.flatnonzero(np.bincount(numbers - least)) + least
        table = np.zeros((int(present.max(initial=0)) - least + 1, right - left), dtype=rows.dtype)
        for number in present.tolist():
            if known is None or number <= known:
                table[number - least] = _recorded(p, value, number)
        out[:, left:right] = table[numbers - least]
        if known is not None and present.max(initial=0) > known:
            at = np.flatnonzero(numbers > known)
            out[at, left:right] = [p.row(read(thing)) for thing in asked(at)]
        left = right
    return out


_YES = (True,)
_ATOM = (
    Property("element", "GetSymbol", ELEMENTS),
    Property("degree", "GetDegree", (0, 1, 2, 3, 4, 5, 6)),
    Property("charge", "GetFormalCharge", (-2, -1, 0, 1, 2)),
    Property("hydrogens", _hydrogens, (0, 1, 2, 3, 4)),
    Property("hybridisation", _hybridisation, ("S", "SP", "SP2", "SP3", "SP3D", "SP3D2")),
    Property("aromatic", "GetIsAromatic", _YES, other=False),
    Property("ring", "IsInRing", _YES, other=False),
)

SETS: dict[str, MoleculeFeatures] = {
    features.name: features
    for features in (
        MoleculeFeatures(
            "element",
            atom=(Property("element", "GetSymbol", ELEMENTS, perceived=False),),
            bond=(Property("order", "GetBondTypeAsDouble", BOND_ORDERS, other=False),),
        ),
        MoleculeFeatures(
            "atoms",
            atom=_ATOM,
            bond=(
                Property("order", "GetBondTypeAsDouble", BOND_ORDERS),
                Property("conjugated", "GetIsConjugated", _YES, other=False),
                Property("ring", "IsInRing", _YES, other=False),
            ),
        ),
        # The bond order as one number: one matrix beside A where ``atoms`` has seven.
        MoleculeFeatures("compact", atom=_ATOM, bond=(Property("order", "GetBondTypeAsDouble"),)),
        # A bond has two columns only, since each is a matrix beside A. Lower-case labels are those of centres whose
        # branches differ in stereochemistry alone, such as the cis and trans forms of rings.
        MoleculeFeatures(
            "full",
            atom=(
                *_ATOM,
                Property("chirality", _chirality, ("R", "S", "r", "s"), other=False),
                Property("ring_size", _ring_size, (3, 4, 5, 6, 7, "8+"), other=False),
                Property("isotope", _has_isotope, _YES, other=False),
            ),
            bond=(Property("order", "GetBondTypeAsDouble"), Property("stereo", _stereo)),
        ),
        # The labels of the TU data set, in its order: molecules can be read as its graphs are. Its rings of five have
        # single and double bonds where RDKit has aromatic ones; rings of six agree.
        MoleculeFeatures(
            "mutag",
            atom=(Property("element", "GetSymbol", ("C", "N", "O", "F", "I", "Cl", "Br"), other=False),),
            bond=(Property("order", "GetBondTypeAsDouble", (1.5, 1.0, 2.0, 3.0), other=False),),
        ),
    )
}
"""The sets that have a name."""


_GROUPS = "groups"


def molecule_features(
    name: str | Mapping[str, Any] | MoleculeFeatures = "element", hydrogens: bool = False
) -> MoleculeFeatures:
    """The molecule features of this name, those written as this JSON object, or those given.

    ``hydrogens=True`` makes hydrogens vertices. A name may add features of the molecule as a whole:
    ``element+morgan+descriptors``; ``+groups`` adds marks of functional groups. A JSON object lists its columns; an
    error if the set of that name has other columns now, since a model trained on them cannot be used.

    Example:
        >>> molecule_features("element").vertex_names[:3]
        ('element=C', 'element=N', 'element=O')
    """
    data: Mapping[str, Any] = name if isinstance(name, Mapping) else {}
    key = data.get("name") if data else name
    base, *added = key.split("+") if isinstance(key, str) else [""]
    features = SETS.get(base) if isinstance(key, str) else key
    known = set(added) <= {*FINGERPRINTS, _GROUPS} and len(set(added)) == len(added)
    if not isinstance(features, MoleculeFeatures) or not known:
        raise ConfigurationError(
            f"molecule features {key!r}: choose from {', '.join(SETS)}, with features of the molecule added once each "
            f"if wanted ({', '.join(f'+{name}' for name in FINGERPRINTS)}), or give a ccn.features.MoleculeFeatures"
        )
    if added:
        whole = tuple(name for name in added if name != _GROUPS)
        features = replace(features, name=str(key), fingerprints=whole, groups=_GROUPS in added)
    now = features.to_json()
    for what in ("vertex_names", "edge_names", "fingerprints"):
        if what in data and data[what] != now[what]:
            raise ConfigurationError(
                f"molecule features {key!r}: written with other {what} than they have here; use the version of ccn, "
                "or your own set, that they were written with"
            )
    hydrogens = bool(hydrogens or data.get("hydrogens"))
    return replace(features, hydrogens=True) if hydrogens and not features.hydrogens else features

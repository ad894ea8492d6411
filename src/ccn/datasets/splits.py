"""Splits: which rows of a data set are for training, for choosing settings, for calibration and for the final test.

Every split is drawn by one rule (:mod:`ccn.datasets.dealing`): sizes exact to rounding, every class in proportion,
no group divided. The same seed gives the same split. A split is saved as JSON with a fingerprint of its data, so that
it cannot be applied to other data by mistake.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ccn.datasets.dealing import deal, groups_of, join_groups, molecule_groups, scaffold_groups
from ccn.errors import ConfigurationError
from ccn.files import write_atomically
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Int

__all__ = [
    "PARTS",
    "Kind",
    "Seed",
    "Split",
    "fingerprint",
    "k_fold",
    "load_splits",
    "make_splits",
    "paper_splits",
    "random_split",
    "save_splits",
    "split_by_column",
    "stratified_split",
]

PARTS = ("train", "validation", "test", "calibration")
FRACTIONS = (0.8, 0.1, 0.1)
Seed = int | tuple[int, ...]
Kind = Literal["random", "stratified", "scaffold", "column", "folds", "paper"]
_SPELLINGS = {"train": 0, "training": 0, "validation": 1, "valid": 1, "val": 1, "dev": 1, "test": 2, "testing": 2}


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """Row numbers of the parts. Every row of the data set is in exactly one of them.

    Attributes:
        train, validation, test: row numbers.
        calibration: rows for prediction intervals, which neither fit the model nor choose its settings; may be empty.
        complete: whether rows that are in no part are an error; they are not after :meth:`labelled`.

    Example:
        >>> split = Split([0, 3], [1, 4], [2])
        >>> split, split.with_calibration(seed=0)
        (Split(train=2, validation=2, test=1), Split(train=2, validation=1, test=1, calibration=1))
    """

    train: Int
    validation: Int
    test: Int
    calibration: Int = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    complete: bool = True

    def __post_init__(self) -> None:
        for part in PARTS:
            rows = np.asarray(getattr(self, part))
            if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
                raise ConfigurationError(f"split: {part} must be a list of row numbers")
            object.__setattr__(self, part, rows.astype(np.int64))
        if not len(self.train):
            raise ConfigurationError("split: there is no row to train on")
        rows, count = np.unique(np.concatenate(list(self.parts.values())), return_counts=True)
        if (count > 1).any():
            raise ConfigurationError(f"split: row {rows[count > 1][0]} is given twice; parts must not overlap")
        wrong = np.flatnonzero(rows != np.arange(len(rows)))
        if self.complete and wrong.size:
            raise ConfigurationError(f"split: row {wrong[0]} is in no part; put each of 0..{len(rows) - 1} in one")

    @classmethod
    def of(cls, part: ArrayLike) -> Split:
        """From the part of each row: 0 train, 1 validation, 2 test."""
        train, validation, test = (np.flatnonzero(np.asarray(part) == p) for p in range(3))
        return cls(train, validation, test)

    @property
    def parts(self) -> dict[str, Int]:
        """The rows of each part by its name, calibration only if it has any."""
        return {part: rows for part in PARTS if len(rows := getattr(self, part)) or part != "calibration"}

    def __len__(self) -> int:
        return sum(map(len, self.parts.values()))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of rows of train, validation and test, and of calibration if it has any."""
        return tuple(map(len, self.parts.values()))

    def __repr__(self) -> str:
        return f"Split({', '.join(f'{part}={len(rows)}' for part, rows in self.parts.items())})"

    def with_calibration(self, seed: Seed) -> Split:
        """Half of the validation part drawn for calibration; unchanged if there is a calibration part already, or
        fewer than two rows to divide.
        """
        rows = self.validation
        if len(rows) < 2 or len(self.calibration):
            return self
        half = random_split(len(rows), (0.5, 0.5, 0.0), seed)
        return replace(self, validation=rows[half.train], calibration=rows[half.validation])

    def shared(self, values: Iterable[Any]) -> Int:
        """The rows whose value, such as a molecule, is in more than one part, as far as they are in a part.

        Example:
            >>> Split([0, 3], [1], [2]).shared(["C", "O", "C", "N"])
            array([0, 2])
        """
        group, rows = groups_of(values), np.concatenate(list(self.parts.values()))
        number = np.repeat(np.arange(len(self.sizes)), self.sizes)
        least, most = np.full(len(group), len(PARTS)), np.full(len(group), -1)
        np.minimum.at(least, group[rows], number)
        np.maximum.at(most, group[rows], number)
        return np.sort(rows[(least < most)[group[rows]]])

    def labelled(self, mask: ArrayLike) -> Split:
        """Every part restricted to the rows where ``mask`` (rows,) is true, such as those that have a target."""
        kept = np.asarray(mask, dtype=bool)
        return replace(self, **{part: rows[kept[rows]] for part, rows in self.parts.items()}, complete=False)


def random_split(
    n: int, fractions: Sequence[float] = FRACTIONS, seed: Seed = 0, *, groups: Iterable[Any] | None = None
) -> Split:
    """Rows at random; those of one group stay together.

    Example:
        >>> random_split(188)
        Split(train=150, validation=19, test=19)
    """
    return _split(_strata(n), fractions, seed, groups)


def stratified_split(
    labels: ArrayLike, fractions: Sequence[float] = FRACTIONS, seed: Seed = 0, *, groups: Iterable[Any] | None = None
) -> Split:
    """The same with every class spread over the parts in proportion, as far as rounding and groups allow.

    ``labels`` holds the class of each row, or one row of classes; missing ones (NaN) count as one more class. Of a
    small class at least one row is for training.
    """
    return _split(_strata(None, labels), fractions, seed, groups)


def split_by_column(
    values: Iterable[Any], *, groups: Iterable[Any] | None = None, rows: ArrayLike | None = None
) -> Split:
    """From a column that says ``train``, ``validation`` (``valid``, ``val``) or ``test`` in each row.

    Errors name rows by their numbers in ``rows``, by default from 0.

    Example:
        >>> split_by_column(["train", "Test", "val", "train"])
        Split(train=2, validation=1, test=1)
    """
    texts = [str(v).strip() for v in values]
    part = np.array([_SPELLINGS.get(text.lower(), -1) for text in texts], dtype=np.int64)
    numbers = np.asarray(range(len(texts)) if rows is None else rows)
    if (bad := np.flatnonzero(part < 0)).size:
        raise ConfigurationError(
            f"split column: row {numbers[bad[0]]} says {texts[bad[0]]!r}; write train, validation or test"
        )
    if groups is not None:
        first: dict[int, int] = {}
        for row, group in enumerate(groups_of(groups).tolist()):
            other = first.setdefault(group, row)
            if part[other] != part[row]:
                raise ConfigurationError(
                    f"split column: rows {numbers[other]} and {numbers[row]} are the same molecule or group, but one "
                    f"is for {PARTS[part[other]]}, one for {PARTS[part[row]]}; make them agree or pass "
                    "duplicates='ignore'"
                )
    return Split.of(part)


def k_fold(
    n: int,
    folds: int = 10,
    seed: Seed = 0,
    *,
    labels: ArrayLike | None = None,
    groups: Iterable[Any] | None = None,
    validation: bool = True,
) -> list[Split]:
    """Each row is tested once: fold i tests on part i, validates on part i+1 and trains on the rest.

    With ``labels`` the folds are stratified. Without ``validation`` the validation parts are empty.

    Example:
        >>> [len(split.test) for split in k_fold(10, folds=5)]
        [2, 2, 2, 2, 2]
    """
    if not 2 + validation <= folds <= n:
        raise ConfigurationError(f"folds={folds}: choose from {2 + validation} to the number of rows, {n}")
    part = _parts(np.full(folds, 1 / folds), _strata(n, labels), groups, seed)
    out = []
    for fold in range(folds):
        number = np.where(part == fold, 2, 0)
        if validation:
            number[part == (fold + 1) % folds] = 1
        out.append(Split.of(number))
    return out


def paper_splits(
    labels: ArrayLike, splits: int = 10, seed: int = 0, *, groups: Iterable[Any] | None = None
) -> list[Split]:
    """The paper's protocol on the data sets of graph kernels: 10 stratified splits of 80/10/10.

    Example:
        >>> len(paper_splits([0, 1] * 20)), paper_splits([0, 1] * 20)[0]
        (10, Split(train=32, validation=4, test=4))
    """
    together = None if groups is None else groups_of(groups)
    return [stratified_split(labels, seed=(seed, i), groups=together) for i in range(splits)]


def make_splits(
    kind: Kind,
    n: int,
    *,
    count: int | None = None,
    fractions: Sequence[float] = FRACTIONS,
    seed: int = 0,
    labels: ArrayLike | None = None,
    molecules: Iterable[Any] | None = None,
    canonical: Iterable[str] | None = None,
    column: Iterable[Any] | None = None,
    groups: Iterable[Any] | None = None,
    duplicates: Literal["together", "ignore"] | None = None,
    rows: ArrayLike | None = None,
    folds: int | None = None,
) -> list[Split]:
    """Splits by the name of their kind, for command lines and estimators.

    Args:
        kind: ``random``, ``stratified``, ``scaffold``, ``column``, ``folds`` or ``paper``.
        n: number of rows.
        count: how many splits, or folds; by default 1, and 10 for ``folds`` and ``paper``.
        fractions: of train, validation and test.
        seed: the same seed gives the same splits.
        labels: the class of each row.
        molecules: SMILES or RDKit molecules.
        canonical: their canonical SMILES, where they have been made (:attr:`ccn.datasets.Dataset.canonical`).
        column: the part of each row, for ``column``.
        groups: rows to keep together.
        duplicates: keep rows of one molecule ``together``, regardless of spelling, or ``ignore`` duplicates. By default
            they are kept together where the split is drawn, and a column is taken as it is; with ``together``, a column
            that divides a molecule is an error.
        rows: the numbers by which errors name the rows; by default from 0.
        folds: so many of them by this kind of split, random, stratified or scaffold, in place of one split; each has a
            test part and the rest.

    Example:
        >>> make_splits("stratified", 10, fractions=(0.6, 0.2, 0.2), labels=[0, 1] * 5, seed=0)
        [Split(train=6, validation=2, test=2)]
    """
    if duplicates is None:
        duplicates = "ignore" if kind == "column" else "together"
    if duplicates not in ("together", "ignore"):
        raise ConfigurationError(f"duplicates={duplicates!r}: choose 'together' or 'ignore'")
    held = [] if groups is None else [groups_of(groups)]
    if kind == "scaffold":  # which spellings of one molecule share
        held.append(scaffold_groups(_needed(kind, "molecules", molecules if canonical is None else canonical)))
    elif duplicates == "together" and canonical is not None:
        held.append(groups_of(canonical))
    elif duplicates == "together" and molecules is not None:
        held.append(molecule_groups(molecules))
    together = join_groups(*held) if held else None
    if folds is not None and kind in ("random", "stratified", "scaffold"):
        classes = _needed(kind, "labels", labels) if kind == "stratified" else None
        return k_fold(n, folds, seed, labels=classes, groups=together, validation=False)
    ten = 10 if count is None else count
    if kind == "column":
        return [split_by_column(_needed(kind, "column", column), groups=together, rows=rows)]
    if kind == "folds":
        return k_fold(n, ten, seed, labels=labels, groups=together)
    if kind == "paper":
        return paper_splits(_needed(kind, "labels", labels), ten, seed, groups=together)
    seeds: list[Seed] = [seed] if count is None else [(seed, i) for i in range(count)]
    if kind == "stratified":
        return [stratified_split(_needed(kind, "labels", labels), fractions, s, groups=together) for s in seeds]
    if kind in ("random", "scaffold"):
        return [random_split(n, fractions, s, groups=together) for s in seeds]
    raise ConfigurationError(f"split {kind!r}: choose random, stratified, scaffold, column, folds or paper")


def _needed(kind: str, name: str, value: Any) -> Any:
    if value is None:
        raise ConfigurationError(f"a split of the kind {kind!r} needs {name}, and the data set has none")
    return value


def fingerprint(data: Any) -> str:
    """A hash of the rows, given as strings (SMILES) or as graphs, which a file of splits records.

    Only the structure of graphs counts, so that splits hold for any features.
    """
    digest = hashlib.sha256()
    if isinstance(data, Sequence) and len(data) and isinstance(data[0], str):
        for text in data:
            digest.update(text.encode() + b"\n")
    else:
        arrays = Pack.of(data).compact().arrays
        for key in ("vertex_start", "entry_start", "row", "column"):
            digest.update(arrays[key].astype("<i8").tobytes())
    return digest.hexdigest()


def save_splits(path: str | Path, splits: Sequence[Split], data: Any) -> None:
    """Write splits of ``data``, the strings or graphs of the rows, as JSON.

    Example:
        >>> save_splits("one-split.json", [Split([0, 1], [2], [3])], ["C", "CC", "CCC", "CCCC"])
    """
    written = [{part: rows.tolist() for part, rows in split.parts.items()} for split in splits]
    text = json.dumps({"fingerprint": fingerprint(data), "splits": written})
    write_atomically(Path(path), f"{text}\n".encode())


def load_splits(path: str | Path, data: Any) -> list[Split]:
    """Read splits back; an error if they were saved for other data.

    Example:
        >>> smiles = ["C" * n for n in range(1, 11)]
        >>> save_splits("splits.json", k_fold(10, folds=5), smiles)
        >>> len(load_splits("splits.json", smiles))
        5
    """
    try:
        held = json.loads(Path(path).read_text(encoding="utf-8"))
        splits = [Split(**{part: s[part] for part in PARTS if part in s}) for s in held["splits"]]
        found = held["fingerprint"]
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(f"{path}: not a file of splits, as save_splits writes them ({error})") from None
    if found != fingerprint(data) or any(len(s) != len(data) for s in splits):
        raise ConfigurationError(f"{path}: holds splits of other data; give their data, or make new splits")
    return splits


def _split(strata: Int, fractions: Sequence[float], seed: Seed, groups: Iterable[Any] | None) -> Split:
    shares = np.asarray(fractions, dtype=np.float64)
    if shares.shape != (3,) or not (shares >= 0).all() or shares[0] == 0 or abs(shares.sum() - 1) > 1e-6:
        raise ConfigurationError(f"fractions={tuple(fractions)}: give train, validation and test, which sum to 1")
    return Split.of(_parts(shares, strata, groups, seed, train_first=True))


def _parts(shares: Any, strata: Int, groups: Iterable[Any] | None, seed: Seed, *, train_first: bool = False) -> Int:
    """The part of each row, drawn from the seed."""
    together = np.arange(len(strata)) if groups is None else groups_of(groups)
    if len(together) != len(strata):
        raise ConfigurationError(f"{len(strata)} rows, but groups of {len(together)}")
    if not all(isinstance(s, int | np.integer) and s >= 0 for s in (seed if isinstance(seed, tuple) else (seed,))):
        raise ConfigurationError(f"seed={seed!r} must be an integer from 0")
    return deal(shares, strata, together, np.random.default_rng(seed), train_first=train_first)


def _strata(n: int | None, labels: ArrayLike | None = None) -> Int:
    """(rows,) the class of each row by ``labels``, or one class of n rows."""
    if labels is None:
        if not isinstance(n, int | np.integer) or n < 1:
            raise ConfigurationError(f"n={n!r} must be the number of rows, at least 1")
        return np.zeros(n, dtype=np.int64)
    rows = np.asarray(labels)
    rows = rows[:, None] if rows.ndim == 1 else rows
    return groups_of([tuple(None if v != v else v for v in row) for row in rows.tolist()])

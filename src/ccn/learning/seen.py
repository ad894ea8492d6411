"""The molecules that a model was made with, as salted hashes: one can be recognised, none can be read.

Hashed is the canonical SMILES, so that the spelling does not matter. Graphs that are not molecules have no such form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ccn.datasets.splits import Split
from ccn.graphs.ragged import Int

__all__ = ["SEEN", "Seen"]

SEEN = ("train", "validation")
"""The parts that a model is made with; those that calibrate its intervals count as validation."""
_BYTES = 8  # of a hash: among a million molecules, chance finds a million others less than once in ten million times
_SALT = 16
_MOST = 2**28  # hashes in a file


def _rdkit() -> str:
    from rdkit import rdBase

    return str(rdBase.rdkitVersion)


@dataclass(frozen=True, eq=False)
class Seen:
    """Hashes of molecules, distinct and in order of size, so that they do not reveal the rows of the data.

    Attributes:
        salt: 16 bytes, other ones in every model.
        train: of the molecules that were fitted.
        validation: of the others, by which the model was chosen or calibrated.
        rdkit: the version that wrote the canonical SMILES; another one may write some otherwise.
    """

    salt: bytes
    train: Int
    validation: Int
    rdkit: str

    @classmethod
    def of(cls, molecules: Sequence[str], split: Split, salt: bytes) -> Seen:
        """From canonical SMILES, one per row, and the parts; an empty text is not hashed."""

        def hashed(rows: Int) -> Int:
            return np.unique(_hashes(filter(None, (molecules[i] for i in rows.tolist())), salt))

        train, held = hashed(split.train), hashed(np.concatenate([split.validation, split.calibration]))
        return cls(salt[:_SALT], train, np.setdiff1d(held, train), _rdkit())

    def after(self, before: Seen) -> Seen:
        """These and those of the model that it starts from, which has the same salt."""
        train = np.union1d(self.train, before.train)
        validation = np.setdiff1d(np.union1d(self.validation, before.validation), train)
        return Seen(self.salt, train, validation, before.rdkit)

    def parts(self, molecules: Sequence[str]) -> dict[str, np.ndarray[Any, np.dtype[np.bool_]]]:
        """For each part (rows,) whether the molecules, as canonical SMILES, are of it."""
        hashes = _hashes(molecules, self.salt)
        return {part: np.isin(hashes, getattr(self, part)) for part in SEEN}

    @property
    def exact(self) -> bool:
        """Whether canonical SMILES are written here as they were then; if not, a molecule may be missed."""
        return self.rdkit == _rdkit()

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Tensors and plain data for a file."""
        tensors = {f"seen/{part}": torch.from_numpy(getattr(self, part)) for part in SEEN}
        return tensors, {"salt": self.salt.hex(), "rdkit": self.rdkit}

    @classmethod
    def from_state(cls, tensors: Mapping[str, Tensor], data: Mapping[str, Any]) -> Seen:
        """What :meth:`state` wrote; a ValueError if it is nothing of the kind."""
        found = [tensors[f"seen/{part}"] for part in SEEN]
        salt, rdkit = bytes.fromhex(data["salt"]), data["rdkit"]
        if any(t.dtype != torch.int64 or t.ndim != 1 or len(t) > _MOST for t in found):
            raise ValueError("hashes of molecules must be 64-bit integers in a row")
        if len(salt) != _SALT or not isinstance(rdkit, str):
            raise ValueError(f"hashes of molecules need a salt of {_SALT} bytes and the version of RDKit")
        return cls(salt, found[0].numpy(), found[1].numpy(), rdkit)


def _hashes(molecules: Any, salt: bytes) -> Int:
    raw = b"".join(blake2b(m.encode(), digest_size=_BYTES, salt=salt[:_SALT]).digest() for m in molecules)
    return np.frombuffer(raw, dtype="<i8").astype(np.int64)

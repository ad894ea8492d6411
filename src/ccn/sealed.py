"""Sealed files: tensors and plain data in one safetensors file, whole or refused.

The header holds the format and its version, the data as JSON and a SHA-256 of everything. A file is
written beside its place, flushed to the disk and moved there in one step, so that a process killed at
any moment leaves the old file or the new one, never half of one. Reading runs no code from the file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from ccn.errors import FileError
from ccn.files import write_atomically

__all__ = ["form_of", "read", "read_header", "write"]


def _digest(tensors: Mapping[str, Tensor], form: str, data: str) -> str:
    sha = hashlib.sha256()
    for text in (form, data):
        sha.update(len(text.encode()).to_bytes(8, "little") + text.encode())
    for name in sorted(tensors):
        t = tensors[name]
        sha.update(f"{name} {t.dtype} {tuple(t.shape)}\n".encode())
        sha.update(t.reshape(-1).view(torch.uint8).numpy().tobytes() if t.numel() else b"")
    return sha.hexdigest()


def write(path: Path, form: str, version: int, tensors: Mapping[str, Tensor], data: Mapping[str, Any]) -> None:
    """Write tensors and plain data as a file of the format ``form``."""
    # Copies of their own: safetensors refuses tensors that share memory.
    held = {k: v.detach().cpu().contiguous().clone() for k, v in tensors.items()}
    header = {"format": f"{form} {version}", "data": json.dumps(data, allow_nan=True)}
    header["sha256"] = _digest(held, header["format"], header["data"])
    write_atomically(path, save(held, header))


def _unfinished(path: Path) -> str:
    """What to do about a run that has no model yet."""
    run = (path.parent / "config.toml").is_file()
    return f": the run has not come to its end; go on with: ccn train --output {path.parent} --resume" if run else ""


def _open(path: Path) -> Any:
    try:
        return safe_open(path, framework="pt")
    except FileNotFoundError:
        raise FileError(f"{path}: there is no such file{_unfinished(path)}") from None
    except (SafetensorError, OSError) as error:
        raise FileError(
            f"{path}: not a whole safetensors file ({error}); it may be truncated, take another copy"
        ) from None


def form_of(path: Path) -> str:
    """The format of a file, as it says itself."""
    with _open(path) as f:
        return str((f.metadata() or {}).get("format", "")).rpartition(" ")[0]


def read_header(path: Path, form: str, version: int) -> tuple[int, dict[str, Any]]:
    """The version and the data of a file, read from its header without the tensors, unverified."""
    with _open(path) as f:
        header = f.metadata() or {}
    found, _, number = header.get("format", "").rpartition(" ")
    if found != form or not number.isdigit() or "data" not in header:
        raise FileError(f"{path}: a safetensors file, but not a {form}" + (f" (it is a {found})" if found else ""))
    if int(number) > version:
        raise FileError(
            f"{path}: a {form} of version {number}, this ccn reads up to {version}; install a newer ccn to read it"
        )
    try:
        return int(number), json.loads(header["data"])
    except json.JSONDecodeError as error:
        raise FileError(f"{path}: its header is not whole ({error}): it was altered; take another copy") from None


def read(path: Path, form: str, version: int) -> tuple[int, dict[str, Tensor], dict[str, Any]]:
    """Version, tensors and data of a file; an error if a single bit of it has changed."""
    number, data = read_header(path, form, version)
    with _open(path) as f:
        header = f.metadata()
        tensors = {name: f.get_tensor(name) for name in f.keys()}  # noqa: SIM118 (not a mapping)
    if _digest(tensors, header["format"], header["data"]) != header.get("sha256"):
        raise FileError(f"{path}: the content does not agree with its checksum: it was altered; take another copy")
    return number, tensors, data

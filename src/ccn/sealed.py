"""Sealed files: tensors and plain data in one safetensors file, intact or refused.

The header holds the format and its version, the data as JSON and a SHA-256 of everything. Files are written atomically
(:func:`ccn.files.write_atomically`). Reading runs no code from the file.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from ccn.errors import FileError
from ccn.files import write_atomically

__all__ = ["Sealed", "read", "write"]

_DEEPEST = 50  # levels of lists and objects in the data of a file; a model has about ten


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
    """Write tensors and plain data as a file of the format ``form``; the same content gives the same bytes."""
    # Copies, since safetensors refuses tensors that share memory.
    held = {k: v.detach().cpu().contiguous().clone() for k, v in tensors.items()}
    header = {"format": f"{form} {version}", "data": json.dumps(data, allow_nan=True)}
    header["sha256"] = _digest(held, header["format"], header["data"])
    raw = memoryview(save(held, header))
    end = 8 + int.from_bytes(raw[:8], "little")
    # safetensors writes the entries of the header in an order that is drawn anew in every process.
    text = json.dumps({**json.loads(bytes(raw[8:end])), "__metadata__": header}, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    pieces = (len(text).to_bytes(8, "little"), text, raw[end:])
    write_atomically(path, lambda file: file.writelines(pieces))


@dataclass(frozen=True)
class Sealed:
    """The content of a file: its format with the version of it, plain data and tensors."""

    form: str
    version: int
    data: dict[str, Any]
    tensors: dict[str, Tensor]


def _unfinished(path: Path) -> str:
    run = (path.parent / "config.toml").is_file()
    return f": the run is not finished; resume it with: ccn train --output {path.parent} --resume" if run else ""


def _open(path: Path) -> Any:
    try:
        return safe_open(path, framework="pt")
    except FileNotFoundError:
        raise FileError(f"{path}: there is no such file{_unfinished(path)}") from None
    except (SafetensorError, OSError) as error:
        raise FileError(
            f"{path}: not an intact safetensors file ({error}); it may be truncated, take another copy"
        ) from None


def read(path: Path, forms: Mapping[str, int], *, tensors: bool = True) -> Sealed:
    """A file of one of the formats, each with the newest version that can be read.

    Without ``tensors`` only the header is read, unverified; with them a single changed bit is an error.
    """
    with _open(path) as f:
        header = f.metadata() or {}
        form, version = _form(path, header, forms)
        try:
            data = _data(header["data"])
            held = {name: f.get_tensor(name) for name in f.keys()} if tensors else {}  # noqa: SIM118 (not a mapping)
        except (ValueError, RecursionError, SafetensorError) as error:
            raise FileError(f"{path}: its content is damaged ({error}); take another copy") from None
    if tensors and _digest(held, header["format"], header["data"]) != header.get("sha256"):
        raise FileError(f"{path}: the content does not agree with its checksum: it was altered; take another copy")
    return Sealed(form, version, data, held)


def _data(text: str) -> dict[str, Any]:
    """The data of a header; a ValueError unless it is an object that recursive functions can walk through."""
    data = json.loads(text)
    if not isinstance(data, dict):
        raise ValueError(f"its data is not an object but a {type(data).__name__}")
    level: list[Any] = [data]
    for _ in range(_DEEPEST):
        level = [x for v in level if isinstance(v, dict | list) for x in (v.values() if isinstance(v, dict) else v)]
    if level:
        raise ValueError(f"its data is nested more than {_DEEPEST} levels deep")
    return data


def _form(path: Path, header: Mapping[str, str], forms: Mapping[str, int]) -> tuple[str, int]:
    """The format of a file and its version; an error if it is none of those wanted."""
    form, _, number = header.get("format", "").rpartition(" ")
    if form not in forms or not re.fullmatch("[0-9]{1,9}", number) or "data" not in header:
        wanted = " or ".join(f"a {name}" for name in forms)
        raise FileError(f"{path}: a safetensors file, but not {wanted}" + (f" (it is a {form})" if form else ""))
    if int(number) > forms[form]:
        raise FileError(
            f"{path}: a {form} of version {number}, this ccn reads up to {forms[form]}; install a newer ccn to read it"
        )
    return form, int(number)

"""Functions compiled by LLVM when they are first called, and the folder of ours alone where their code is kept."""

from __future__ import annotations

import ctypes
import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import llvmlite
import numpy as np
from llvmlite import binding as llvm
from llvmlite import ir

from ccn.engine.cpu.translating import BOOL, INT, Argument, Emitted, Function, Kind, Known, Struct, array, entry, struct
from ccn.errors import FileError
from ccn.files import cache_folder, private_folder, write_atomically

__all__ = [
    "Structure",
    "compiled",
    "emitted",
    "inlined",
    "kept_kernels",
    "kernel_folder",
    "known",
    "processor",
    "shared",
    "when_compiling",
    "woven",
]

_making = threading.Lock()
_told: list[Callable[[], None]] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_told.clear)  # a copy has no screen


@cache
def kernel_folder() -> str:
    """Where compiled code is kept, under a name that stands for the compiler, the processor and all of the engine.

    ``CCN_KERNELS`` moves it out of the cache. Since what is read there is run, the folder must be private.
    """
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    digest.update("\n".join([llvmlite.__version__, llvm.get_process_triple(), *processor()]).encode())
    base = Path(os.environ.get("CCN_KERNELS") or cache_folder())
    return str(private_folder(base / "kernels" / digest.hexdigest()))


def kept_kernels() -> bool:
    """Whether compiled code is on disk, from an earlier use on this machine."""
    return any(Path(kernel_folder()).glob("*.o"))


@contextmanager
def when_compiling(tell: Callable[[], None]) -> Iterator[None]:
    """Call a function at the first kernel that is compiled, not read from disk, while the block runs."""
    _told.append(tell)
    try:
        yield
    finally:
        with suppress(ValueError):  # it was called
            _told.remove(tell)


class Structure:
    """A named tuple or an array as compiled code reads it: integers, with addresses and shapes of arrays."""

    __slots__ = ("address", "held", "kind", "words")

    def __init__(self, value: Any) -> None:
        self.held, (self.kind, words) = value, _described(value)
        self.words = np.array(words, np.int64)
        self.address = self.words.ctypes.data

    def __reduce__(self) -> Any:
        return Structure, (self.held,)  # in a copy the addresses are others


def _described(value: Any) -> tuple[Kind, list[int]]:
    """The kind of a value and the integers that describe it."""
    if type(value) is int:
        return INT, [value]
    if isinstance(value, np.ndarray):
        if not value.flags.c_contiguous:
            raise ValueError(f"an array {value.shape} whose elements are not in the order of C")
        return array(value.dtype, value.ndim), [value.ctypes.data, *value.shape]
    if isinstance(value, tuple):
        kinds, words = zip(*map(_described, value), strict=True)
        return struct(type(value), kinds), [word for some in words for word in some]
    return INT, [int(value)]


_NUMBERS: dict[type, tuple[Kind, Callable[[Any], Any]]] = {
    bool: (BOOL, int),
    int: (INT, int),
    np.int64: (INT, int),
    float: (np.dtype(np.float64), float),
    np.float64: (np.dtype(np.float64), float),
    np.float32: (np.dtype(np.float32), float),
}


class _Compiled(Function):
    """A function that Python can call too; code is made for each combination of kinds that it is called with."""

    def __init__(self, python: Callable[..., Any], *, apart: bool = False) -> None:
        super().__init__(python, apart=apart)
        self.made: dict[tuple[Argument, ...], Callable[..., None]] = {}
        self.linked: set[str] = set()

    def __call__(self, *given: Any) -> None:
        kinds: list[Argument] = []
        words, held = [], []
        for value in given:
            if type(value) in _NUMBERS:
                kind, convert = _NUMBERS[type(value)]
                words.append(convert(value))
            elif type(value) is Known:
                kinds.append(value)
                continue
            else:
                structure = value if isinstance(value, Structure) else Structure(value)
                held.append(structure)
                kind = structure.kind
                words.append(structure.address)
            kinds.append(kind)
        key = tuple(kinds)
        run = self.made.get(key)
        if run is None:
            with _making:
                run = self.made.get(key) or _callable(_made(self, key), key)
            self.made[key] = run
        run(*words)

    def link(self, kind: np.dtype[Any], name: str) -> None:
        """Let other code find this function, which is ``apart``, for numbers of such a kind under a name."""
        if name not in self.linked:
            kinds = {"bool": BOOL, "float": kind}
            llvm.add_symbol(name, _made(self, tuple(kinds.get(of, INT) for of in self.parameters)))
            self.linked.add(name)


def _callable(address: int, kinds: tuple[Argument, ...]) -> Callable[..., None]:
    """Code as a function of integers and floating-point numbers."""
    types = {"f4": ctypes.c_float, "f8": ctypes.c_double}
    given = [k for k in kinds if not isinstance(k, Known)]
    taken = [types.get(k.str[1:], ctypes.c_int64) if isinstance(k, np.dtype) else ctypes.c_int64 for k in given]
    return ctypes.CFUNCTYPE(None, *taken)(address)


def known(value: Any) -> Known:
    """A number, an array or a named tuple of these that code is made for."""

    def text(of: Any) -> str:
        if isinstance(of, tuple):
            return f"({','.join(map(text, of))})"
        return f"{of.shape}{of.tolist()}" if isinstance(of, np.ndarray) else repr(of)

    return Known(value, hashlib.blake2b(text(value).encode(), digest_size=8).hexdigest())


def compiled(f: Callable[..., Any]) -> Any:
    """Compile when first called, and keep the result on disk where that is possible; the compiler may inline it."""
    return _Compiled(f)


def shared(f: Callable[..., Any]) -> Any:
    """Compile it once for all that call it, and not with each of them: for what is large, of numbers alone."""
    return _Compiled(f, apart=True)


def inlined(f: Callable[..., Any]) -> Any:
    """Compile it into its callers: for what is small and called in many places."""
    return Function(f, inlined=True)


def woven(f: Callable[..., Any]) -> Any:
    """Make it part of its callers before they are compiled."""
    return Function(f, woven=True)


def emitted(f: Callable[..., Any]) -> Any:
    """A function whose code is written down operation by operation: ``f`` has a builder and values."""
    return Emitted(f)


def _signature(kind: Argument) -> str:
    if isinstance(kind, Known):
        return f"={kind.name}"
    if isinstance(kind, np.dtype):
        return kind.str
    if isinstance(kind, Struct):
        return f"{kind.name}({','.join(f'{name}={at}{_signature(of)}' for name, (at, of) in kind.fields.items())})"
    return f"{kind.dtype.str}[{kind.axes}]"


def _made(function: Function, kinds: tuple[Argument, ...]) -> int:
    """The address of the code for such arguments, from disk or made now."""
    source = Path(function.python.__code__.co_filename)
    digest = hashlib.blake2b(source.read_bytes() if source.exists() else b"", digest_size=8)
    digest.update(" ".join(map(_signature, kinds)).encode())
    name = f"{function.__name__}-{digest.hexdigest()}"
    path = Path(kernel_folder()) / f"{name}.o"
    address = _kept(path, name)
    if not address:
        while _told:
            _told.pop()()
        content = _object(function, kinds, name)
        address = _loaded(content, name)
        with suppress(OSError, FileError):
            write_atomically(path, hashlib.blake2b(content).digest() + content)
    return address


def _kept(path: Path, name: str) -> int:
    """Address of the code in a file, or 0 if there is none, or it is damaged."""
    with suppress(OSError):
        content = path.read_bytes()
        size = hashlib.blake2b().digest_size
        if hashlib.blake2b(content[size:]).digest() == content[:size]:
            return _loaded(content[size:], name)
    return 0


@cache
def processor() -> tuple[str, str]:
    """Name and features of the processor, as LLVM knows them."""
    try:
        features = llvm.get_host_cpu_features().flatten()
    except RuntimeError:  # not known on this kind of processor
        features = ""
    return llvm.get_host_cpu_name(), features


def _target() -> Any:
    """What code is made for; its owner may be an engine."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    name, features = processor()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    reloc = "static" if target.name.startswith("x86") else "default"
    return target.create_target_machine(
        cpu=name, features=features, opt=3, reloc=reloc, codemodel="jitdefault", jit=True
    )


@cache
def _engine() -> Any:
    """What holds machine code in memory."""
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target())


def _loaded(content: bytes, name: str) -> int:
    """The address of a function, whose machine code becomes part of this process, as does what it calls."""
    called, _, code = content.partition(b"\0")
    for other in called.decode().split():
        module, function, kind = other.split(":")
        getattr(import_module(module), function).link(np.dtype(kind), other)
    engine = _engine()
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return int(engine.get_function_address(name))


def _object(function: Function, kinds: tuple[Argument, ...], name: str) -> bytes:
    """The names of functions apart that a function calls, and the machine code of it and of all else that it calls."""
    module, target = ir.Module(name), _target()
    module.triple, module.data_layout = llvm.get_process_triple(), str(target.target_data)
    entry(function, kinds, name, module)
    parsed = llvm.parse_assembly(str(module))
    parsed.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.loop_unrolling = True
    builder = llvm.create_pass_builder(target, options)
    builder.getModulePassManager().run(parsed, builder)
    called = " ".join(f.name for f in module.functions if f.is_declaration and ":" in f.name)
    code: bytes = target.emit_object(parsed)
    return called.encode() + b"\0" + code

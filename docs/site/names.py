"""The public names: those of ``ccn`` and its modules, and those that docs/stability.md lists besides.

A page for each module, made of docstrings by autodoc. Every name has an example that runs (``tests/test_names.py``).
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import ccn

POLICY = Path(__file__).parents[1] / "stability.md"
_ROW = re.compile(r"^\| `(ccn(?:\.\w+)+)` \| (.+) \|$", re.MULTILINE)


def modules() -> dict[str, list[str]]:
    """The public modules, as they are imported, and the public names of each, without modules."""
    inside = [name for name in ccn.__all__ if isinstance(getattr(ccn, name), ModuleType)]
    found = {"ccn": ccn, **{f"ccn.{name}": getattr(ccn, name) for name in inside}}
    public = {
        name: [n for n in getattr(module, "__all__", ()) if not isinstance(getattr(module, n), ModuleType)]
        for name, module in found.items()
    }
    for name, row in _ROW.findall(POLICY.read_text("utf-8")):
        public[name] = [*public.get(name, []), *re.findall(r"`(\w+)`", row)]
    return {name: names for name, names in public.items() if names}


def module(name: str) -> ModuleType:
    """The module that ``ccn.interop`` and the like name."""
    _, _, inner = name.partition(".")
    if inner in ccn.__all__:
        found = getattr(ccn, inner)
        assert isinstance(found, ModuleType)
        return found
    return import_module(name)


def documented() -> Iterator[tuple[str, str, Any]]:
    """Every public name once: module, name and what it is; first as a name of ``ccn`` itself."""
    known: list[Any] = []
    for place, names in modules().items():
        for name in names:
            value = getattr(module(place), name)
            if not any(value is other for other in known):
                known.append(value)
                yield place, name, value


def pages() -> dict[str, str]:
    """The page of each public module, as Markdown around directives of autodoc."""
    made: dict[str, list[str]] = {}
    for place, name, value in documented():
        made.setdefault(place, []).append(_directive(f"{module(place).__name__}.{name}", value))
    out = {}
    for place, directives in made.items():
        head = f".. automodule:: {module(place).__name__}\n   :no-members:\n   :no-index:\n"
        blocks = "\n\n".join(f"```{{eval-rst}}\n{text}\n```" for text in (head, *directives))
        out[place] = f"# {place}\n\n{blocks}\n"
    return out


def example_of(place: str, name: str, value: Any) -> str:
    """The docstring with the example of a name: its own, one of its methods, or, of a value, that of its module."""
    own = [inspect.getdoc(value) or ""] if _describes_itself(value) else []
    if inspect.isclass(value):
        own += [inspect.getdoc(member) or "" for member in vars(value).values()]
    if not _describes_itself(value):
        text = module(place).__doc__ or ""
        own += [text] if any(re.search(rf"\b{name}\b", line) for line in text.splitlines() if ">>>" in line) else []
    return next((text for text in own if ">>>" in text), "")


def _describes_itself(value: Any) -> bool:
    """Whether it is a class or function of this package, with a docstring of its own."""
    return inspect.isclass(value) or (callable(value) and str(getattr(value, "__module__", "")).startswith("ccn"))


def _directive(name: str, value: Any) -> str:
    if inspect.isclass(value):
        return f".. autoclass:: {name}\n   :members: {', '.join(_members(value))}\n   :undoc-members:"
    if _describes_itself(value):
        return f".. autofunction:: {name}"
    text = "\n".join(f"   {line}" for line in _remark(name.rpartition(".")[2], value).splitlines())
    return f".. py:data:: {name}\n\n{text}"


def _members(kind: type) -> list[str]:
    """The names to describe where a private base has some of them; none, which is all of its own, for other classes."""
    bases = [base for base in kind.__mro__[1:] if base.__module__.startswith("ccn.") and base.__name__[0] == "_"]
    inherited = [n for base in bases for n, m in vars(base).items() if inspect.isroutine(m) or isinstance(m, property)]
    return [n for n in dict.fromkeys([*vars(kind), *inherited]) if n[0] != "_"] if bases else []


def _remark(name: str, value: Any) -> str:
    """The string that stands below the assignment of a value."""
    for holder in [m for key, m in sys.modules.items() if key.split(".")[0] == "ccn"]:
        if getattr(holder, "__file__", None) and vars(holder).get(name) is value:
            body = ast.parse(Path(str(holder.__file__)).read_text("utf-8")).body
            for this, after in pairwise(body):
                targets = this.targets if isinstance(this, ast.Assign) else [getattr(this, "target", None)]
                if any(isinstance(t, ast.Name) and t.id == name for t in targets) and isinstance(after, ast.Expr):
                    return inspect.cleandoc(str(ast.literal_eval(after.value)))
    return ""

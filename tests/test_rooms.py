"""The order of rooms: a room imports only from those before it, and by names that are public there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SRC = Path(__file__).parents[1] / "src"
ROOMS = [
    "errors", "version", "files", "settings", "progress", "sealed", "algebra", "chemistry", "graphs", "schemes",
    "reference", "engine", "layers", "models", "export", "testing", "features", "datasets", "learning", "training",
    "methods", "expressivity", "explain", "estimators", "baselines", "reports", "runs", "serving",
    "paper", "cli",
]  # fmt: skip
DOWN = {("ccn.learning.model_file", "methods")}  # finds a method by its name: the one edge that points down

TREES = {
    ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__"): ast.parse(path.read_text("utf-8"))
    for path in SRC.glob("ccn/**/*.py")
}


def imports(module: str) -> Iterator[tuple[str, str | None]]:
    """The modules of ccn that a module imports, lazily too but not for type checkers, and the name taken from each."""
    nodes: list[ast.AST] = [TREES[module]]
    for node in nodes:  # which grows meanwhile
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            nodes += node.orelse
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names if alias.name.split(".")[0] == "ccn")
        elif isinstance(node, ast.ImportFrom) and (node.level or str(node.module).split(".")[0] == "ccn"):
            assert not node.level, f"{module}: write imports in full"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield (inner, None) if inner in TREES else (str(node.module), alias.name)
        nodes += ast.iter_child_nodes(node)


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else "ccn"


def public(module: str) -> list[str]:
    for node in TREES[module].body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return []


INSIDE = sorted(module for module in TREES if module not in ("ccn", "ccn.__main__"))


def test_every_room_has_its_place() -> None:
    assert {room(module) for module in INSIDE} <= set(ROOMS)


def test_a_room_imports_only_from_those_before_it() -> None:
    edges = {(module, room(other)) for module in INSIDE for other, _ in imports(module)}
    before = {name: {*ROOMS[: place + 1]} for place, name in enumerate(ROOMS)}
    found = {(module, other) for module, other in edges - DOWN if other not in before[room(module)]}
    assert not found
    assert edges >= DOWN


def test_names_from_other_modules_are_public_there() -> None:
    taken = {(other, name) for module in INSIDE for other, name in imports(module) if name and other != module}
    hidden = [f"{other}.{name}" for other, name in taken if not name.endswith("__") and name not in public(other)]
    assert not sorted(hidden)


def test_public_names_do_not_look_private() -> None:
    assert not [f"{module}.{name}" for module in INSIDE for name in public(module) if name.startswith("_")]


def test_a_room_says_what_it_owns_and_what_it_imports() -> None:
    packages = {room(module): f"ccn.{room(module)}" for module in INSIDE if module.count(".") > 1}
    text = {name: ast.get_docstring(TREES[package]) or "" for name, package in packages.items()}
    assert not [name for name, t in text.items() if len(t.split()) < 20 or "import" not in t.lower()]

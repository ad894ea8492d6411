"""The order of rooms: a room imports only from those before it, and by names that are public there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SRC = Path(__file__).parents[1] / "src"
ROOMS = [
    "errors", "version", "files", "settings", "progress", "sealed", "algebra", "chemistry", "graphs", "schemes",
    "reference", "engine", "layers", "models", "export", "testing", "features", "datasets", "learning", "training",
    "methods", "estimators", "reports", "runs", "paper", "cli",
]  # fmt: skip
DOWN = {("ccn.learning.model_file", "methods")}  # finds a method by its name: the one edge that points down

# Violations of today; none may be added, and one that is gone must be removed here.
KNOWN: set[tuple[str, str]] = {
    ("ccn.learning.inputs", "training"),
    ("ccn.learning.model", "training"),
    ("ccn.learning.model_file", "training"),
    ("ccn.methods.model", "runs"),
    ("ccn.schemes.kept", "engine"),
}
KNOWN_NAMES: set[str] = {
    "ccn.algebra.contractions.index_letters",
    "ccn.datasets.splits.Kind",
    "ccn.engine.reductions.SMALL",
    "ccn.features.vertices.check_whole",
    "ccn.features.vertices.one_hot",
    "ccn.features.vertices.unfitted",
    "ccn.graphs.adjacency.needs_grad",
    "ccn.graphs.adjacency.sources",
    "ccn.graphs.graph.entry_weights",
    "ccn.graphs.graph.finite_tensor",
    "ccn.graphs.graph.prefix",
    "ccn.graphs.graph.real_tensor",
    "ccn.graphs.pack.KEPT_LEVELS",
    "ccn.layers.aggregation.Choice",
    "ccn.learning.metrics.check_monitor",
    "ccn.learning.task.Floats",
    "ccn.methods.kernels.kernel.Floats",
    "ccn.methods.method.as_arrays",
    "ccn.methods.method.as_tensors",
    "ccn.paper.cells.parse_methods",
    "ccn.runs.config.OWN",
    "ccn.runs.workers.Texts",
    "ccn.runs.workers.answer_with",
    "ccn.training.recipe.SECTIONS",
    "ccn.training.recipe.plain",
    "ccn.training.recipe.unplain",
}
KNOWN_DOCSTRINGS: set[str] = {
    "algebra", "chemistry", "datasets", "engine", "features", "layers", "paper", "reports", "schemes",
}  # fmt: skip

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
    assert found == KNOWN
    assert edges >= DOWN


def test_names_from_other_modules_are_public_there() -> None:
    taken = {(other, name) for module in INSIDE for other, name in imports(module) if name and other != module}
    assert {
        f"{other}.{name}" for other, name in taken if not name.endswith("__") and name not in public(other)
    } == KNOWN_NAMES


def test_public_names_do_not_look_private() -> None:
    assert not [f"{module}.{name}" for module in INSIDE for name in public(module) if name.startswith("_")]


def test_a_room_says_what_it_owns_and_what_it_imports() -> None:
    packages = {room(module): f"ccn.{room(module)}" for module in INSIDE if module.count(".") > 1}
    text = {name: ast.get_docstring(TREES[package]) or "" for name, package in packages.items()}
    assert {n for n, t in text.items() if len(t.split()) < 20 or "import" not in t.lower()} == KNOWN_DOCSTRINGS

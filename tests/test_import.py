"""What importing ccn costs, seen from a fresh interpreter, and that every public name is there."""

import subprocess
import sys

import pytest

import ccn
from ccn.cli import app

HEAVY = ("rdkit", "sklearn", "torch_geometric", "matplotlib", "networkx")


def _loaded(code: str) -> set[str]:
    """The top-level packages in memory after ``code`` in a fresh interpreter."""
    script = f"{code}\nimport sys\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("module", ["ccn", "ccn.algebra", "ccn.cli"])
def test_importing_loads_neither_torch_nor_anything_heavy(module: str) -> None:
    loaded = _loaded(f"import {module}")
    assert "ccn" in loaded
    assert not loaded & {*HEAVY, "torch", "scipy"}


@pytest.mark.parametrize("module", ["ccn.algebra", "ccn.settings", "ccn.datasets"])
def test_importing_loads_no_torch(module: str) -> None:
    assert "torch" not in _loaded(f"import {module}")


@pytest.mark.slow
def test_the_help_of_every_verb_loads_nothing_heavy() -> None:
    verbs = [[name] for name in app if not name.startswith("-")]
    verbs += [["data", name] for name in app["data"] if not name.startswith("-")]
    show = f"for words in {verbs}:\n    app([*words, '--help'], result_action='return_value')"
    loaded = _loaded(f"from ccn.cli import app\n{show}")
    assert not loaded & {*HEAVY, "torch", "scipy"}


@pytest.mark.slow
def test_a_network_needs_no_optional_package() -> None:
    loaded = _loaded("import ccn\nccn.CCN(1, 1)([ccn.Graph([(0, 1)], n=2)])")
    assert "torch" in loaded
    assert not loaded & set(HEAVY)


@pytest.mark.parametrize("name", ccn.__all__)
def test_every_public_name_resolves_and_is_listed(name: str) -> None:
    assert getattr(ccn, name) is not None
    assert name in dir(ccn)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'Grpah'"):
        _ = ccn.Grpah

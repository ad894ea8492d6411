"""SMILES to packed graphs: the same in one process and in several, and a reason for each that is not a molecule."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ccn import Graph
from ccn.chemistry.properties import MoleculeFeatures, Property, molecule_features
from ccn.datasets.molecules import convert, pack_molecules
from ccn.errors import GraphError

SMILES = ["CCO", "c1ccccc1", "C", "[Na+].[Cl-]", "CC(=O)O", "N#N"]
MINE = MoleculeFeatures("mine", (Property("mass", "GetMass"),), ())


@pytest.mark.parametrize("hydrogens", [False, True])
def test_the_pack_holds_the_graphs_that_smiles_give_one_by_one(hydrogens: bool) -> None:
    pack = pack_molecules(SMILES, hydrogens=hydrogens).pack
    for made, smiles in zip(pack, SMILES, strict=True):
        one = Graph.from_smiles(smiles, hydrogens=hydrogens)
        assert np.array_equal(made.entries, one.entries)
        assert torch.equal(made.features.float(), one.features.float())
        a, b = made.edge_features, one.edge_features
        assert a is not None
        assert b is not None
        assert torch.equal(a[made.entry_edge].float(), b[one.entry_edge].float())


@pytest.mark.parametrize("more", ["", "=", "O", "1", "(", "c", "n", "[nH]", "*", ".C", "[H]", "[2H]", "#", "+"])
def test_what_is_a_molecule_does_not_depend_on_what_is_read_of_it(more: str) -> None:
    """Also where only bonded atoms are read, for which RDKit is not asked to perceive aromaticity."""
    known = ["c1ccccc1", "c1cc[nH]c1", "c1cccc1", "CN(=O)=O", "C1=CC=CC=C1", "c1ccc-2c(c1)-c1ccccc12", "[Na+].[Cl-]"]
    odd = ["", "C[N+](C)(C)C", "N->[Pt](Cl)Cl", "CCO name", "c1cc2c3cocc3c3c4[SiH2]C(=Cc4ncc3c2[se]1)c1scc2C=CCc12"]
    many = [s[:cut] + more + s[cut:] for s in [*known, *odd] for cut in range(len(s) + 1)]
    whole, bare = molecule_features("element"), replace(molecule_features("element"), bond=())
    complete, quick = (convert(many, features) for features in (whole, bare))
    assert (complete.good.tolist(), complete.bad, complete.noted) == (quick.good.tolist(), quick.bad, quick.noted)
    a, b = complete.pack.arrays, quick.pack.arrays
    assert all(np.array_equal(a[key], b[key]) for key in ("vertex_start", "features", "row", "column"))


@pytest.mark.parametrize("name", ["compact", "full", "atoms", "full+groups"])
@pytest.mark.parametrize("options", [{}, {"canonical": True}, {"standardise": "parent"}])
def test_records_of_many_give_what_is_asked_of_each(name: str, options: dict[str, Any]) -> None:
    """Your own property has no record, so that each atom is asked."""
    many = [
        *SMILES,
        "*C",
        "C[C@H](F)Cl",
        "x",
        "F/C=C/F",
        "[H]C([2H])O",
        "CC(=O)[O-].[Na+]",
        "C" * 300,
        "C(C",
        "CC |$a;$|",
    ]
    features = molecule_features(name)
    asked = replace(features, atom=(*features.atom, Property("mine", lambda atom: 1)))
    a, b = convert(many, features, **options), convert(many, asked, **options)
    assert (a.good.tolist(), a.bad, a.noted, a.canonical) == (b.good.tolist(), b.bad, b.noted, b.canonical)
    assert a.pack.arrays.keys() == b.pack.arrays.keys()
    for key, value in a.pack.arrays.items():
        other = b.pack.arrays[key][:, :-1] if key == "features" else b.pack.arrays[key]
        assert np.array_equal(value, other)


@pytest.mark.parametrize("features", [molecule_features(), molecule_features("full"), MINE])
def test_no_molecule_at_all(features: MoleculeFeatures) -> None:
    made = convert(["x", ""], features)
    assert len(made.pack) == 0
    assert len(made.bad) == 2


@pytest.mark.slow
def test_workers_give_what_one_process_gives() -> None:
    many = [*SMILES, "bad", *SMILES, "", "C(C"]
    options: dict[str, Any] = {"canonical": True, "elements": ("H", "C"), "chunk": 4, "serial": 0}
    alone, both = (pack_molecules(many, n_jobs=jobs, **options) for jobs in (1, 2))
    for key, value in alone.pack.arrays.items():
        assert np.array_equal(value, both.pack.arrays[key])
    assert (alone.bad, alone.noted, alone.canonical) == (both.bad, both.noted, both.canonical)
    assert [i for i, _ in both.bad] == [6, 13, 14]
    assert both.counts[:3].tolist() == [[6, 2], [6, 6], [4, 1]]


@pytest.mark.slow
def test_a_script_needs_no_main_guard(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from ccn.datasets.molecules import pack_molecules\n"
        "print(len(pack_molecules(['CCO'] * 30, n_jobs=2, chunk=10, serial=0).pack))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "30"


def test_a_letter_that_is_not_ascii_makes_no_other_molecule() -> None:
    made = pack_molecules(["CCO", "CCÖ", "CCO…", "CCO éthanol"])
    assert made.good.tolist() == [0]
    assert made.bad[:2] == [
        (1, "not a SMILES: it has the character 'Ö'"),
        (2, "not a SMILES: it has the character '…'"),
    ]
    assert made.bad[2][0] == 3
    with pytest.raises(GraphError, match="cannot read"):
        Graph.from_smiles("CCÖ")


@pytest.mark.parametrize("canonical", [False, True])
def test_atoms_are_limited_before_rdkit_reads_them(canonical: bool) -> None:
    texts = ["CCO", "C" * 20_000, "C(" * 30_000 + "C" + ")" * 30_000, "C" * 100_000, "CC"]
    made = convert(texts, molecule_features("element"), canonical)
    assert made.good.tolist() == [0, 4]
    assert [i for i, _ in made.bad] == [1, 2, 3]
    assert all("2,000" in why for _, why in made.bad)
    assert convert(texts[:1], molecule_features("element"), max_atoms=2).bad

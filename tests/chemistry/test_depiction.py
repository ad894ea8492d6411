"""Small drawings of molecules."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from ccn.chemistry.depiction import depict


@pytest.mark.parametrize("smiles", ["C", "CCO", "[Na+].[O-]C(=O)c1ccccc1[N+](=O)[O-]", "C/C=C/[C@H](F)Cl", "[2H]C*"])
def test_a_drawing_is_a_small_element_without_outside_names(smiles: str) -> None:
    svg = depict(smiles, atoms=[0])
    root = ElementTree.fromstring(svg)
    assert root.tag == "svg"
    assert len(svg) < 6000
    assert "xmlns" not in svg
    assert "http" not in svg


@pytest.mark.parametrize("smiles", ["", "no molecule", "C" * 300, "CC<script>"])
def test_what_cannot_be_drawn_is_empty(smiles: str) -> None:
    assert depict(smiles) == ""

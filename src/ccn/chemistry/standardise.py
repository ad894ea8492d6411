"""One form of a molecule that chemists write in several: salts, charges, tautomers (RDKit's MolStandardize).

A choice that is made for training is repeated in every prediction.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from ccn.errors import ConfigurationError, GraphError

__all__ = ["Standard", "check_standard", "standardised"]

Standard = Literal["cleanup", "parent", "tautomer"]
"""``cleanup``: functional groups and charges written in one way, metals disconnected; ``parent``: then the largest
fragment alone, uncharged where possible; ``tautomer``: then its canonical tautomer."""


def check_standard(standard: Any) -> Standard | None:
    """The same, or an error if there is no such standard; None leaves molecules as they are."""
    if standard is not None and standard not in get_args(Standard):
        raise ConfigurationError(f"standardise={standard!r}: it must be one of none, {', '.join(get_args(Standard))}")
    found: Standard | None = standard
    return found


def standardised(mol: Any, standard: Standard) -> Any:
    """The standard form of an RDKit molecule, read from its canonical SMILES; an error says why there is none.

    Example:
        >>> from rdkit import Chem
        >>> Chem.MolToSmiles(standardised(Chem.MolFromSmiles("[Na+].CC(=O)[O-]"), "parent"))
        'CC(=O)O'
    """
    from rdkit import Chem, rdBase
    from rdkit.Chem.MolStandardize import rdMolStandardize

    with rdBase.BlockLogs():
        try:
            made = rdMolStandardize.Cleanup(mol)
            if standard != "cleanup":
                made = rdMolStandardize.FragmentParent(made, skipStandardize=True)
                made = rdMolStandardize.Uncharger().uncharge(made)
            if standard == "tautomer":
                made = rdMolStandardize.TautomerEnumerator().Canonicalize(made)
            # Read again, so that all spellings of a molecule are one graph, down to the order of its atoms.
            made = Chem.MolFromSmiles(Chem.MolToSmiles(made))
        except (ValueError, RuntimeError) as error:  # of RDKit, which derives its own from ValueError
            raise GraphError(f"cannot be standardised: {standard}, {str(error).strip()}") from None
    if made is None or not made.GetNumAtoms():
        raise GraphError(f"cannot be standardised: {standard}, RDKit cannot read the result")
    return made

"""Molecules as RDKit reads them: SMILES, and properties of atoms and bonds as arrays. No graphs, no torch.

Imports errors alone; RDKit is imported where it is used.
"""

"""What RDKit knows of a molecule, as arrays: no graphs, no torch. Imports errors alone."""

"""Graphs: one, a batch, a pack of many; ragged arrays; channels of A; exchange with other libraries.

Imports the algebra (for the class of A) and chemistry (to read molecules).
"""

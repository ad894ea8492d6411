"""The paper's experiments: which cells there are, how one is run, its record, and tables beside the paper's figures.

Imports methods, reports, runs and everything above them.
"""

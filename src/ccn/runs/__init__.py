"""A folder on disk and what is done with it: configuration, train, predict, evaluate, tune, embed; processes, clusters.

Imports methods and reports and everything above them.
"""

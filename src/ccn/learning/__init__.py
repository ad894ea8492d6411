"""What is learned and what was learned: tasks, metrics, inputs, the fitted model, its file and its intervals.

Imports data sets, features and everything above them. A model file finds the class of its method by name in
:mod:`ccn.methods`, the only import that points down.
"""

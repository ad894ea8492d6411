"""Training: recipes, the loop, checkpoints, trained models and their files.

Each module is imported where it is used; this package imports nothing by itself, since Fabric takes a while.
"""

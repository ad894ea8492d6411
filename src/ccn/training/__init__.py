"""Training one network: the recipe, batches, the loop on Lightning Fabric, checkpoints.

Imports learning and everything above it. Each module is imported where it is used, since Fabric takes a while.
"""

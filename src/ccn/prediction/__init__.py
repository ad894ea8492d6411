"""Predictions for whole files: chunk by chunk, on all cores or on a cluster, and on again after a kill."""

"""Reports and figures of a run. Imports learning and everything above it."""

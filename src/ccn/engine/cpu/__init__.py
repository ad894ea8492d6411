"""The compiled form of the engine, for CPUs: a plan as arrays of numbers, run graph by graph by kernels."""

"""The paper's experiments: cells, records, and tables of our results beside the paper's. Imports methods and runs."""

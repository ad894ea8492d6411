"""The paper's experiments: protocol, cells, records, tables beside the paper's figures. Imports methods and runs."""

"""The readers under Atheris, which follows the branches that an input takes: an extra, ``pip install 'ccn[fuzz]'``.

``python -m tests.fuzz.atheris_readers tests/fuzz/seeds`` runs until it is stopped or finds a traceback; the options are
those of libFuzzer. The first byte of an input chooses the reader.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

READERS = ["ccn.datasets", "ccn.learning", "ccn.sealed", "ccn.runs.config"]
SUFFIXES = (".csv", ".tsv", ".smi", ".sdf", ".jsonl", ".zip", ".csv.gz", ".gml", ".graphml", ".toml", ".safetensors")


def one(content: bytes) -> None:
    """Read one input; any error but those of ccn ends the search."""
    from ccn.datasets import load
    from ccn.errors import CCNError
    from ccn.learning import model_file
    from ccn.runs.config import read_config, resolve

    if not content:
        return
    suffix = SUFFIXES[content[0] % len(SUFFIXES)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"input{suffix}"
        path.write_bytes(content[1:])
        try:
            if suffix == ".toml":
                resolve(file=read_config(path))
            elif suffix == ".safetensors":
                model_file.load(path)
            else:
                load(path, store=False)
        except CCNError:
            pass


def main() -> None:
    """Search for inputs that fail."""
    try:
        import atheris
    except ImportError:
        sys.exit("Atheris is not installed: pip install 'ccn[fuzz]'")
    with atheris.instrument_imports(include=READERS):
        one(b"\0id,smiles,y\n")  # imports them
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()

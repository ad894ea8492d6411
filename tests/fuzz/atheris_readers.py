"""The readers under Atheris, which follows the branches that an input takes: an extra, ``pip install 'ccn[fuzz]'``.

``python -m tests.fuzz.atheris_readers -max_total_time=600`` runs until it is stopped or finds a traceback; the options
are those of libFuzzer. The first byte of an input chooses the reader, so the seeds are copied with the byte of theirs.
"""

from __future__ import annotations

import gzip
import io
import sys
import tempfile
import zipfile
from pathlib import Path

SEEDS = Path(__file__).with_name("seeds")
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


def corpus() -> list[bytes]:
    """The seeds as inputs: a graph kernel data set as an archive, and one table compressed."""
    found = [(path.suffix, path.read_bytes()) for path in sorted(SEEDS.rglob("*")) if path.suffix in SUFFIXES]
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted((SEEDS / "tu").rglob("*")):
            file.writestr(str(path.relative_to(SEEDS / "tu")), path.read_bytes() if path.is_file() else b"")
    found += [(".zip", archive.getvalue()), (".csv.gz", gzip.compress((SEEDS / "plain.csv").read_bytes(), mtime=0))]
    return [bytes([SUFFIXES.index(suffix)]) + content for suffix, content in found]


def main() -> None:
    """Search for inputs that fail."""
    try:
        import atheris
    except ImportError:
        sys.exit("Atheris is not installed: pip install 'ccn[fuzz]'")
    inputs = corpus()
    with atheris.instrument_imports(include=READERS):
        for content in inputs:  # imports the readers, of which most are imported where they are needed
            one(content)
    with tempfile.TemporaryDirectory() as folder:
        for i, content in enumerate(inputs):
            (Path(folder) / f"{i:03}").write_bytes(content)
        atheris.Setup([*sys.argv, folder], one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()

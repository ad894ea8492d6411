"""The readers under Atheris, which follows the branches that an input takes: an extra, ``pip install 'ccn[fuzz]'``.

``python -m tests.fuzz.atheris_readers --seconds 60`` gives each reader so long, in a process of its own that ends at
the first input that fails; that input is saved to ``fuzz-failures``. The corpus of a reader is the seeds in its format.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import ANY

SEEDS = Path(__file__).with_name("seeds")
READERS = ["ccn.datasets", "ccn.chemistry", "ccn.learning", "ccn.methods", "ccn.sealed", "ccn.runs.config"]
SUFFIXES = (
    *(".csv", ".tsv", ".smi", ".sdf", ".jsonl", ".csv.gz", ".xlsx", ".parquet", ".zip", ".gml", ".graphml", ".toml"),
    ".safetensors",
)
SECONDS, MEGABYTES = 20, 2048  # for one input, as in make fuzz
LARGEST = 25_000  # bytes of a seed: larger ones are changed slowly


def reader(suffix: str, folder: Path) -> Callable[[bytes], None]:
    """Read one input of a format; any error but those of ccn ends the search."""
    from ccn import sealed
    from ccn.datasets import load
    from ccn.errors import CCNError
    from ccn.learning import model_file
    from ccn.runs.config import read_config, resolve

    path = folder / f"input{suffix}"
    if suffix == ".safetensors":  # anybody can compute the checksum of a forged file
        setattr(sealed, "_digest", lambda *_: ANY)  # noqa: B010 (types)

    def one(content: bytes) -> None:
        path.write_bytes(content)
        try:
            if suffix == ".toml":
                resolve(file=read_config(path))
            elif suffix == ".safetensors":
                model_file.load(path)
            else:
                load(path, store=False)
        except CCNError:
            pass

    return one


def corpus(suffix: str) -> list[bytes]:
    """The seeds of a format; what is no text is made from one that is."""
    plain = SEEDS / "plain.csv"
    made = io.BytesIO()
    if suffix == ".csv.gz":
        return [gzip.compress(plain.read_bytes(), mtime=0)]
    if suffix == ".zip":
        with zipfile.ZipFile(made, "w") as archive:
            for path in sorted((SEEDS / "tu").iterdir()):
                archive.writestr(f"TINY/{path.name}", path.read_bytes())
        return [made.getvalue()]
    if suffix in (".xlsx", ".parquet"):
        import pandas

        table = pandas.read_csv(plain)
        table.to_excel(made, index=False) if suffix == ".xlsx" else table.to_parquet(made)
        return [made.getvalue()]
    found = (p.read_bytes() for p in sorted(SEEDS.rglob(f"*{suffix}")))
    return [content for content in found if len(content) <= LARGEST]


def search(suffix: str, options: list[str]) -> None:
    """Search for an input of a format that fails; libFuzzer ends the process."""
    import atheris

    inputs = corpus(suffix)
    with tempfile.TemporaryDirectory() as folder:
        with atheris.instrument_imports(include=READERS):
            one = reader(suffix, Path(folder))
            for content in inputs:  # imports the readers, of which most are imported where they are needed
                one(content)
        seeds = Path(folder) / "seeds"
        seeds.mkdir()
        for i, content in enumerate(inputs):
            (seeds / f"{i:03}").write_bytes(content)
        atheris.Setup([sys.argv[0], *options, str(seeds)], one)
        atheris.Fuzz()


def run(suffix: str, seconds: int, seed: int, failures: Path) -> dict[str, Any]:
    """Search in a process of its own; how many inputs were tried, the branches that they took, and failures."""
    failures.mkdir(parents=True, exist_ok=True)
    limits = (f"-max_total_time={seconds}", f"-timeout={SECONDS}", f"-rss_limit_mb={MEGABYTES}")
    name = f"{failures}/{suffix.strip('.')}-"
    words = ("--reader", suffix, *limits, f"-seed={seed}", f"-artifact_prefix={name}", "-print_final_stats=1")
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.atheris_readers", *words], capture_output=True, check=False
    )
    said = done.stderr.decode("utf-8", "replace") + done.stdout.decode("utf-8", "replace")

    def last(pattern: str) -> int:
        return int((re.findall(pattern, said) or ["0"])[-1])

    if done.returncode:
        print(said[-6000:], file=sys.stderr, flush=True)
    tried, branches = last(r"number_of_executed_units: (\d+)"), last(r" cov: (\d+)")
    return {"reader": suffix, "inputs": tried, "branches": branches, "failures": int(done.returncode != 0)}


def main() -> int:
    """The exit code is 1 if an input failed."""
    flags = argparse.ArgumentParser(prog="python -m tests.fuzz.atheris_readers", description=__doc__)
    flags.add_argument("--seconds", type=int, default=60, help="for each reader")
    flags.add_argument("--seed", type=int, default=1)
    flags.add_argument("--reader", action="append", choices=SUFFIXES, help="only this format; repeat it for several")
    flags.add_argument("--report", type=Path, help="JSON file for the counts")
    flags.add_argument("--failures", type=Path, default=Path("fuzz-failures"), help="folder for inputs that fail")
    given, options = flags.parse_known_args()
    try:
        import atheris  # noqa: F401
    except ImportError:
        sys.exit("Atheris is not installed: pip install 'ccn[fuzz]'")
    if options:  # of libFuzzer: the process of one reader
        search(given.reader[0], options)
    found = []
    for suffix in given.reader or SUFFIXES:
        found.append(run(suffix, given.seconds, given.seed, given.failures))
        print(json.dumps(found[-1]), flush=True)
    if given.report is not None:
        report = {"seed": given.seed, "seconds": given.seconds, "readers": found}
        given.report.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return int(any(one["failures"] for one in found))


if __name__ == "__main__":
    sys.exit(main())

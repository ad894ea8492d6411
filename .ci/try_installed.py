"""Try an installed ccn from outside its source tree: ``python try_installed.py VERSION FOLDER_OF_OLD_MODEL_FILES``.

It imports nothing of the source tree. The version, the data in the wheel, a model file of 0.1, and a table from
training to a reason.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import ccn


def main(version: str, old: Path) -> None:
    """An error if something is missing."""
    where = Path(ccn.__file__).resolve().parent
    assert ccn.__version__ == version, (ccn.__version__, version)
    assert old.resolve().parents[2] not in where.parents, f"{where} is in the source tree"
    assert (where / "py.typed").exists()
    assert len(ccn.datasets.load("MUTAG")) == 188

    expected = json.loads((old / "expected.json").read_text())
    before = expected["files"]["network-regression"]["predictions"]
    then = [float(value) for row in before for name, value in row.items() if name.endswith("_pred")]
    now = ccn.CCNRegressor.load(old / "network-regression.safetensors").predict(expected["smiles"])
    assert all(abs(a - b) < 1e-4 * max(1, abs(b)) for a, b in zip(now, then, strict=True)), (now, then)

    smiles = [f"{'C' * n}{end}" for n in range(1, 13) for end in ("O", "N", "c1ccccc1")]
    Path("table.csv").write_text("\n".join(["smiles,y", *(f"{s},{len(s)}" for s in smiles)]) + "\n")
    for line in (
        "--version",
        "train table.csv --target y --method gp --output run --quiet",
        "predict run table.csv -o out.csv --domain --quiet",
        "explain run CCCO -o why.svg --quiet",
        "draw c1ccccc1O -o scheme.svg",
    ):
        subprocess.run([sys.executable, "-m", "ccn", *line.split()], check=True, stdout=subprocess.DEVNULL)
    assert len(Path("out.csv").read_text().splitlines()) == len(smiles) + 1
    assert Path("run/report.html").stat().st_size > 10_000
    print(f"ccn {version} on Python {sys.version.split()[0]}: installed in {where}, works")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]).resolve())

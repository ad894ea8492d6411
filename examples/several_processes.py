r"""SLURM and several processes: one network trained by two processes, here as on the nodes of a cluster.

    python examples/several_processes.py

The rows of a batch are shared by the processes, and gradients are averaged. On a cluster a job script starts one
process per task; nodes and devices are those of the job:

    #!/bin/bash
    #SBATCH --nodes=2 --ntasks-per-node=4 --cpus-per-task=8 --time=04:00:00 --requeue
    srun ccn train molecules.csv --target y --method ccn --output run --nodes 2 --devices 4 --strategy ddp \
        $([ -e run/config.toml ] && echo --resume)

A job that is cut and put into the queue again resumes from its newest checkpoint. Searches, folds and the members of
the default method are many fits, not one: give them a Dask cluster (`--cluster`), whose workers are jobs of SLURM.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

COMMON = "train MUTAG --method ccn --order 1 --channels 4 --epochs 3 --batch-size 32 --no-report --quiet --overwrite"


def ccn(line: str) -> None:
    """Run a command; with ``ddp`` it starts its other processes itself, as SLURM does on a cluster."""
    subprocess.run([sys.executable, "-m", "ccn", *shlex.split(line)], check=True)


def main(processes: int = 2) -> dict[int, float]:
    """The validation accuracy after three epochs by the number of processes."""
    found = {}
    for count in (1, processes):
        how = f"--devices {count} --strategy {'ddp' if count > 1 else 'auto'} --threads 1"
        ccn(f"{COMMON} --output run-{count} {how}")
        metrics = json.loads(Path(f"run-{count}/metrics.json").read_text())
        found[count] = metrics["metrics"]["validation"]["accuracy"]
    return found


if __name__ == "__main__":
    for count, accuracy in main().items():
        print(f"{count} processes: validation accuracy {accuracy:.2f}")

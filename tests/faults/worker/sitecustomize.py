"""Imported by every Python process whose path has this folder: worker processes of a trial get its faults."""

from __future__ import annotations

import os
import sys
from pathlib import Path

if given := os.environ.get("CCN_FAULTS"):
    sys.path.append(str(Path(__file__).parents[1]))
    from injection import in_worker

    in_worker(given)

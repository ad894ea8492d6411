"""``python -m ccn``: the command line, for launchers such as torchrun that start modules."""

from __future__ import annotations

from ccn.cli import main

if __name__ == "__main__":
    main()

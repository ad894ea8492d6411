"""``ccn demo``: training and prediction on built-in data, in about a minute."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from ccn.cli.options import Output

__all__ = ["demo"]


def demo(*, output: Annotated[Path, Output] = Path("ccn-demo"), epochs: int = 40, seed: int = 0) -> None:
    """Train on MUTAG, which ships with ccn: 188 nitro compounds, mutagenic or not; then predict for three new ones.

    For example, `ccn demo`, or `ccn demo --output demo --seed 1`. It does what `ccn train` and `ccn predict` do.

    Args:
        output: Folder for the run; an earlier run there is replaced.
        epochs: Passes over the training part.
        seed: Random seed of the split and the network.

    """
    from ccn.cli.show import say, table
    from ccn.runs.demonstration import run

    shown = run(output, epochs, seed, say=say(False))
    right = round(shown.accuracy * shown.tested)
    print(
        f"accuracy on {shown.tested} held-out molecules: {100 * shown.accuracy:.1f} % ({right} right); "
        f"always predicting mutagenic: {100 * shown.majority:.1f} %"
    )
    rows = [[name, smiles, f"{100 * p:.0f} %"] for name, smiles, p in shown.predictions]
    table("Three new molecules", ["molecule", "SMILES", "mutagenic"], rows)
    print(f"model: {shown.model}; more: ccn predict {output} FILE -o out.csv")

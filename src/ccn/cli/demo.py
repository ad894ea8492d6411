"""``ccn demo``: the main job on built-in data, in under two minutes."""

from __future__ import annotations

__all__ = ["demo"]


def demo(*, splits: int = 5, epochs: int = 60, seed: int = 0) -> None:
    """Train on MUTAG: an order-2 network beside plain message passing and the majority class.

    Each split is stratified, 80/10/10. The epoch that is tested is the one with the lowest validation loss.

    Parameters
    ----------
    splits: int
        Number of random splits.
    epochs: int
        Passes over the training part.
    seed: int
        Seed of the splits and of the networks.

    """
    from ccn.demo import run

    run(splits, epochs, seed)

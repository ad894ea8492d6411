"""``ccn contractions``: the generalised contractions of a layer, and which of them are redundant."""

from __future__ import annotations

from ccn.algebra import MatrixClass, Source, reduce
from ccn.algebra import contractions as enumerate_contractions
from ccn.cli.options import Flag, Json
from ccn.cli.show import print_json
from ccn.errors import ConfigurationError

__all__ = ["contractions"]

_MOST_ORDER = 12


def contractions(
    *,
    order: int = 2,
    order_out: int | None = None,
    adjacency: Flag = False,
    directed: Flag = False,
    self_loops: Flag = False,
    json: Json = False,
) -> None:
    """List the contractions of T, or of T (x) A, to the order of a layer's output.

    Each row shows the contraction's class (the sizes of its blocks), its einsum (T has the axes of the
    children's tensors and then the stack; A follows) and the contraction it is equal to for the class of
    A, or zero.

    For example, `ccn contractions --order 2 --adjacency` lists the 50 of the paper, 26 of them distinct, and
    `ccn contractions --order 1 --adjacency --directed --json` prints JSON.

    Args:
        order: Order k of the children's tensors.
        order_out: Order of the result; by default the same.
        adjacency: Multiply by the adjacency matrix first.
        directed: A need not be symmetric.
        self_loops: A may have a diagonal.
    """
    for flag, value in (("--order", order), ("--order-out", order_out)):
        if value is not None and not 0 <= value <= _MOST_ORDER:
            raise ConfigurationError(f"{flag} {value}: give 0 to {_MOST_ORDER}")
    source: Source = "TA" if adjacency else "T"
    matrix = MatrixClass(directed, self_loops)
    listed = enumerate_contractions(order + (3 if adjacency else 1), order if order_out is None else order_out, source)
    number = {c: i for i, c in enumerate(listed)}
    representative = [reduce(c, matrix) for c in listed]
    distinct = list(dict.fromkeys(c for c in representative if c is not None))
    rows = [
        {
            "number": i,
            "class": c.kind,
            "einsum": c.einsum,
            "survivors": list(c.survivors),
            "blocks": [list(block) for block in c.blocks],
            "reduces_to": None if r is None else number[r],
        }
        for i, (c, r) in enumerate(zip(listed, representative, strict=True))
    ]
    if json:
        summary = {"order": order, "order_out": listed[0].order_out, "adjacency": adjacency, "matrix": str(matrix)}
        print_json({**summary, "all": len(rows), "distinct": len(distinct), "contractions": rows})
        return
    width = max(len(c.einsum) for c in listed)
    kinds = max(5, *(len(c.kind) for c in listed))
    print(f"{'no.':>4}  {'class':<{kinds}}  {'einsum':<{width}}  reduces to")
    for row, r in zip(rows, representative, strict=True):
        i = row["number"]
        to = "zero" if r is None else "itself" if number[r] == i else f"{number[r]} ({r.einsum})"
        print(f"{i:>4}  {row['class']:<{kinds}}  {row['einsum']:<{width}}  {to}")
    of = f"{'T (x) A' if adjacency else 'T'}, order {listed[0].order_in} to {listed[0].order_out}"
    print(
        f"\n{len(rows)} contractions of {of}; {len(distinct)} distinct and not zero"
        + (f" for A {matrix}" if adjacency else "")
    )

"""What can be distinguished: by message passing, by covariant networks of an order and a number of levels, by anything.

::

    | question | owner |
    |---|---|
    | which graphs covariant networks of order k distinguish, exactly, by level | `exact.py`: :func:`classes` |
    | which graphs message passing distinguishes, of many at once | `colours.py`: :func:`message_passing` |
    | whether two graphs are the same | `isomorphism.py` |
    | which graphs of a data set look alike to each, and the floor of the error | `alike.py`: :func:`alike` |
    | the layer over integers, which the kernel of parts uses too | :mod:`ccn.methods.kernels.integers` |
    | tables, drawn pairs, pages and files | :mod:`ccn.reports.expressivity` |
    | the pairs of BREC and other hard pairs, and records | :mod:`ccn.paper.expressivity` |

Imports methods and everything above them.

>>> from ccn import Graph
>>> from ccn.expressivity import classes
>>> path, star = Graph([(0, 1), (1, 2), (2, 3)], n=4), Graph([(0, 1), (0, 2), (0, 3)], n=4)
>>> [of.tolist() for of in classes([path, star], order=2).levels]
[[0, 0], [0, 1]]
"""

from __future__ import annotations

from ccn.expressivity.alike import Alike, accuracy_ceiling, alike, error_floors
from ccn.expressivity.colours import message_passing
from ccn.expressivity.exact import Classes, classes

__all__ = ["Alike", "Classes", "accuracy_ceiling", "alike", "classes", "error_floors", "message_passing"]

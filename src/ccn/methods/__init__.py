"""Everything that can be fitted, behind one interface and in one registry.

:mod:`ccn.methods.method` has the interface and the one call that fits; each other module is one kind of method.
Imports training, learning and everything above them.

>>> from ccn.methods import make_method
>>> make_method("ccn-2-kernel", classification=True).reads().molecules
'compact'
"""

from __future__ import annotations

from ccn.methods.registry import METHODS, fitted_class, make_method, register

__all__ = ["METHODS", "fitted_class", "make_method", "register"]

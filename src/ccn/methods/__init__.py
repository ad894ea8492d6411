"""The methods that the paper compares with, and its own, as estimators with one interface.

>>> from ccn.methods import method
>>> wl = method("wl", "classification").fit(["CO", "CCO", "CCCO", "CN", "CCN", "CCCN"], [1, 1, 1, 0, 0, 0])
>>> wl.predict(["CCCCO"]).tolist()
[1]
"""

from __future__ import annotations

from ccn.methods.registry import METHODS, load, method

__all__ = ["METHODS", "load", "method"]

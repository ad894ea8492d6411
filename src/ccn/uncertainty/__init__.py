"""How sure a prediction is: conformal intervals."""

from __future__ import annotations

from ccn.uncertainty.conformal import Calibration, calibrate, quantile

__all__ = ["Calibration", "calibrate", "quantile"]

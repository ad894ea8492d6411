"""The methods that the paper compares with, and its own, as estimators with one interface."""

"""What people read: the report of a run, its figures, and tables as Markdown, LaTeX and CSV.

Imports learning and everything above it.
"""

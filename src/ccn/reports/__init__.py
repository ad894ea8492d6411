"""What people read: pages (the report of a run, runs compared, drawn molecules, data), their figures, and tables as
Markdown, LaTeX and CSV.

Imports explanations, learning and everything above them.
"""

"""What readers see: each table as Markdown and LaTeX, each figure as a picture, and the report of a profile."""

"""Readers of the formats in which datasets lie on disk."""

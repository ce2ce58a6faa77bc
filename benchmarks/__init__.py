"""Measurements of speed. Ratios are always measured in one run."""

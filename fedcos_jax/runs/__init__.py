"""A run as plain values: configs, results, and what is written to disk."""

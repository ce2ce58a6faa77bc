"""Where the log of a run is written to, one file per kind of target.

A target is a context manager that yields a writer of rows. A row has one round: its number `round`, and its values by
name. A value is None where there was no evaluation, and where it is not a finite number.
"""

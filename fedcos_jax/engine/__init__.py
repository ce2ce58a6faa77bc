"""A run as a program: clients, rounds, the loop over them, and sweeps of runs."""

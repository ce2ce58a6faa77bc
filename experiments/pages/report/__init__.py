"""The report of a profile: one page with every table, figure and claim of the paper beside what was run."""

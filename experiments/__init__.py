"""The experiments of the paper: its tables and figures, how they are run and stored, and the pages that show them."""

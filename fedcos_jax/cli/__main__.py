"""`python -m fedcos_jax.cli`, for where the command `fedcos` is not on the path."""

import sys

from fedcos_jax.cli.main import main

sys.exit(main())

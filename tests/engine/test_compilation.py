"""A second process compiles nothing that the first has compiled."""

import os
import subprocess
import sys

PROGRAM = """
import collections, sys
import jax
counts = collections.Counter()
jax.monitoring.register_event_listener(lambda event, **_: counts.update([event]))
from fedcos_jax.cli.main import main
assert main(["run", "--rounds", "1", "--local-steps", "2", "--clients", "2", "--quiet"]) == 0
print(counts["/jax/compilation_cache/cache_hits"], counts["/jax/compilation_cache/cache_misses"], file=sys.stderr)
"""


def run_once(place, **environment):
    """(hits, misses) of a short run in a process of its own."""
    ours = ("JAX_COMPILATION_CACHE_DIR", "FEDCOS_COMPILATION_CACHE")
    variables = {name: value for name, value in os.environ.items() if name not in ours}
    variables |= {"FEDCOS_CACHE_DIR": str(place), **environment}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=variables, capture_output=True, text=True, check=True)
    return tuple(map(int, done.stderr.strip().splitlines()[-1].split()))


def test_the_second_process_compiles_nothing(tmp_path):
    hits, misses = run_once(tmp_path)
    assert hits == 0
    assert misses > 0
    assert run_once(tmp_path) == (misses, 0)


def test_it_can_be_switched_off(tmp_path):
    assert run_once(tmp_path, FEDCOS_COMPILATION_CACHE="off") == (0, 0)
    assert not (tmp_path / "compiled").exists()

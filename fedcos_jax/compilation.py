"""Compiled programs kept on disk, so that a second process does not compile again."""

import os

import jax

from fedcos_jax.data.cache import cache_directory

SWITCH = "FEDCOS_COMPILATION_CACHE"
_OFF = ("off", "0", "false", "no")


def keep_compiled_programs() -> None:
    """Lets JAX keep what it compiles under `compiled` in our cache directory.

    Left alone where FEDCOS_COMPILATION_CACHE is `off`, or where JAX has been given a directory already
    (JAX_COMPILATION_CACHE_DIR).
    """
    if os.environ.get(SWITCH, "").lower() in _OFF or os.environ.get("JAX_COMPILATION_CACHE_DIR"):
        return
    jax.config.update("jax_compilation_cache_dir", str(cache_directory() / "compiled"))
    # By default programs that compile within a second are left out, and a run has many of them.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)

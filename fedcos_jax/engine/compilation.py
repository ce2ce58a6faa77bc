"""Compiled programs: kept on disk, so that a second process does not compile again, and the memory they take."""

import os
from typing import Any, NamedTuple

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


class ProgramMemory(NamedTuple):
    """Bytes of a device that a compiled program takes."""

    arguments: int
    outputs: int
    """Without those that take the place of arguments."""
    temporaries: int
    code: int


def program_memory(program: jax.stages.Compiled) -> ProgramMemory | None:
    """By the compiler's own account; None where the backend gives none."""
    analysis: Any = program.memory_analysis()
    if analysis is None:
        return None
    return ProgramMemory(
        arguments=analysis.argument_size_in_bytes,
        outputs=analysis.output_size_in_bytes - analysis.alias_size_in_bytes,
        temporaries=analysis.temp_size_in_bytes,
        code=analysis.generated_code_size_in_bytes,
    )

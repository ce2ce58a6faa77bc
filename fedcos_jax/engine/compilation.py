"""Compiled programs: a cache on disk, so that a second process does not compile again, and the memory of a program."""

import os
from typing import Any, NamedTuple

import jax

from fedcos_jax.data.cache import cache_directory

SWITCH = "FEDCOS_COMPILATION_CACHE"
_OFF = ("off", "0", "false", "no")


def keep_compiled_programs() -> None:
    """Makes JAX keep compiled programs in the folder `compiled` of our cache directory.

    Nothing changes if FEDCOS_COMPILATION_CACHE is `off`, or if JAX_COMPILATION_CACHE_DIR already names a directory.
    """
    if os.environ.get(SWITCH, "").lower() in _OFF or os.environ.get("JAX_COMPILATION_CACHE_DIR"):
        return
    jax.config.update("jax_compilation_cache_dir", str(cache_directory() / "compiled"))
    # By default JAX does not keep programs that compile within a second, and a run has many of them.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)


class ProgramMemory(NamedTuple):
    """Bytes that a compiled program takes on a device."""

    arguments: int
    outputs: int
    """Without the outputs that reuse the memory of arguments."""
    temporaries: int
    code: int


def program_memory(program: jax.stages.Compiled) -> ProgramMemory | None:
    """The memory of a program, as the compiler reports it. None if the backend reports nothing."""
    analysis: Any = program.memory_analysis()
    if analysis is None:
        return None
    return ProgramMemory(
        arguments=analysis.argument_size_in_bytes,
        outputs=analysis.output_size_in_bytes - analysis.alias_size_in_bytes,
        temporaries=analysis.temp_size_in_bytes,
        code=analysis.generated_code_size_in_bytes,
    )

"""Strictness for all tests, four CPU devices, and the compiled programs that test processes share."""

import os
from pathlib import Path

# Compiling takes most of the tests' time, and tiny programs gain nothing from being optimized. XLA's newer emitters of
# fused loops take three times as long to compile them as its older ones.
_CHEAP = (
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true --xla_cpu_use_fusion_emitters=false"
)
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_CHEAP}".strip()
# Programs that one test process compiles are read by the others, and by the next run of the tests.
os.environ["JAX_COMPILATION_CACHE_DIR"] = str(Path(__file__).parents[1] / ".pytest_cache" / "compiled")
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.1"

import jax  # noqa: E402
import pytest  # noqa: E402

jax.config.update("jax_num_cpu_devices", 4)
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")


SLOW = (
    "test_docs.py",
    "test_notebooks.py",
    "test_package.py",
    "test_readme.py",
    "test_tasks.py",
    "test_toy.py",
    "test_methods.py::test_compiled_equals_eager",
    "test_methods.py::test_degenerate",
    "test_methods.py::test_history_is_finite",
    "test_methods.py::test_paper_form",
    "test_methods.py::test_stacked_methods",
    "benchmarks/",
    "cli/test_evaluate.py",
    "cli/test_imports.py",
    "cli/test_long_runs.py",
    "cli/test_main.py",
    "cli/test_plot.py",
    "cli/test_run.py",
    "cli/test_sweep.py",
    "data/test_cifar.py",
    "data/test_leaf.py",
    "data/test_synthetic.py",
    "engine/test_batches.py",
    "engine/test_compilation.py",
    "engine/test_devices.py",
    "engine/test_evaluation.py",
    "engine/test_halving.py",
    "engine/test_loop.py",
    "engine/test_rounds.py",
    "engine/test_sweep.py",
    "experiments/",
    "models/",
    "ops/",
    "runs/test_checkpoint.py",
    "runs/test_estimate.py",
    "runs/test_execute.py",
    "runs/test_log.py",
    "runs/test_opened.py",
    "runs/test_parameters.py",
    "runs/test_replay.py",
    "runs/test_together.py",
)
"""The folders, files and tests that `make test-fast` leaves out: they run whole commands or compile many programs."""


def pytest_collection_modifyitems(items):
    for item in items:
        # Runs of a few steps on a few rows look like diverging ones. A test of the warning expects it by name.
        item.add_marker(pytest.mark.filterwarnings("ignore::fedcos_jax.engine.watch.DivergenceWarning"), append=False)
        if item.nodeid.removeprefix("tests/").startswith(SLOW):
            item.add_marker(pytest.mark.slow)


# It is read before the tests, which take it away from what they test.
_REAL_DATA = os.environ.get("FEDCOS_DATA_DIR")


@pytest.fixture(autouse=True)
def own_places(monkeypatch, tmp_path_factory):
    """No test sees or fills the prepared data of this machine."""
    place = tmp_path_factory.mktemp("prepared")
    monkeypatch.setenv("FEDCOS_CACHE_DIR", str(place / "cache"))
    monkeypatch.setenv("TFDS_DATA_DIR", str(place / "tfds"))


@pytest.fixture(autouse=True, scope="module")
def few_programs():
    """Frees the programs of a test file. A process may map only so much memory, and each program maps some."""
    yield
    jax.clear_caches()


@pytest.fixture
def x64():
    """Double precision, for comparisons with NumPy."""
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real datasets. The test is skipped where there is none."""
    if not _REAL_DATA or not Path(_REAL_DATA).is_dir():
        pytest.skip("needs the real datasets: set FEDCOS_DATA_DIR")
    return Path(_REAL_DATA)

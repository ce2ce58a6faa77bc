"""The job in this library: its public API with its default settings, as the command line runs it."""

import time

import jax
import jax.numpy as jnp
import numpy as np
from flax.traverse_util import flatten_dict, unflatten_dict

from benchmarks.peers.job import BATCH, CLASSES, RATE, SHAPES, STEPS, Data, Job, Outcome, Weights
from fedcos_jax import Schedule, client_sgd, fedavg, federate, models, run
from fedcos_jax.data import Dataset, scaled
from fedcos_jax.engine.devices import use_all_cores
from fedcos_jax.data.partition import Ownership
from fedcos_jax.engine.loop import evaluate, init_state
from fedcos_jax.types import Examples, Params

REPEATS = 2
LAYERS = {"dense": "Dense", "conv": "Conv"}


def train(job: Job, data: Data, weights: Weights) -> Outcome:
    """All rounds as one compiled program; the first run compiles it, later runs are timed."""
    use_all_cores()
    model = models.build(job.model, SHAPES[job.model][0], CLASSES)
    dataset = Dataset("job", Examples(data.x, data.y), Examples(data.test_x, data.test_y), CLASSES, _preprocess())
    federated = federate(dataset, Ownership.of(np.split(np.arange(len(data.y)), job.clients)))
    schedule = Schedule(rounds=job.rounds, local_steps=STEPS, batch_size=BATCH, eval_every=job.rounds)
    key, method = jax.random.key(0), fedavg()

    def timed_run() -> tuple[float, Params]:
        state = init_state(key, method, model, job.clients)._replace(params=_params(weights))
        started = time.perf_counter()
        state, _ = run(key, method, client_sgd(RATE), federated, model, schedule, state=state)
        jax.block_until_ready(state)
        return time.perf_counter() - started, state.params

    first, _ = timed_run()
    times, params = zip(*(timed_run() for _ in range(REPEATS)), strict=True)
    rounds = [seconds / job.rounds for seconds in times]
    first_round = first - (job.rounds - 1) * float(np.median(rounds))
    setting = f"one process, {len(jax.devices())} device{'s' * (len(jax.devices()) > 1)}"
    return Outcome(first_round, rounds, _weights(params[-1]), setting)


def accuracy(job: Job, data: Data, weights: Weights) -> float:
    """Percent of the test rows that these weights get right."""
    model = models.build(job.model, SHAPES[job.model][0], CLASSES)
    test = Examples(jnp.asarray(data.test_x), jnp.asarray(data.test_y))
    return 100 * float(evaluate(_params(weights), test, _preprocess(), model, len(data.test_y)).accuracy)


def _preprocess():
    return scaled(255.0, 0.5, 0.5)


def _params(weights: Weights) -> Params:
    """dense0/kernel -> Dense_0, kernel."""
    paths = {tuple(_layer(name).split("/")): jnp.asarray(array) for name, array in weights.items()}
    return unflatten_dict(paths)


def _layer(name: str) -> str:
    for ours, flax_name in LAYERS.items():
        name = name.replace(ours, f"{flax_name}_")
    return name


def _weights(params: Params) -> Weights:
    names = {"/".join(path): np.asarray(array) for path, array in flatten_dict(params).items()}
    return {name.replace("Dense_", "dense").replace("Conv_", "conv"): array for name, array in names.items()}

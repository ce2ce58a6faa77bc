"""The job in this library: its public API with its default settings, as the command line runs it."""

import time

import jax
import jax.numpy as jnp
import numpy as np
from flax.traverse_util import flatten_dict, unflatten_dict

from benchmarks.peers.job import BATCH, CLASSES, RATE, SHAPES, STEPS, Data, Job, Outcome, Weights
from fedcos_jax import Dataset, Experiment, Schedule, client_sgd, devices, fedavg, federate, models, run
from fedcos_jax.data import scaled
from fedcos_jax.data.partition import Ownership
from fedcos_jax.engine.evaluation import evaluate
from fedcos_jax.engine.loop import initial_state
from fedcos_jax.types import Examples, Params

REPEATS = 2
LAYERS = {"dense": "Dense_", "conv": "Conv_"}
"""How a layer begins in the job's names, and in ours."""


def train(job: Job, data: Data, weights: Weights) -> Outcome:
    """Trains with one compiled program. The first run compiles it, and later runs are timed."""
    devices.use_all_cores()
    schedule = Schedule(rounds=job.rounds, local_steps=STEPS, batch_size=BATCH, eval_every=job.rounds)
    train, test = Examples(data.x, data.y), Examples(data.test_x, data.test_y)
    experiment, key = _experiment(job, train, test, job.clients, schedule), jax.random.key(0)

    def timed_run() -> tuple[float, Params]:
        state = initial_state(key, experiment.federation)._replace(params=_params(weights))
        started = time.perf_counter()
        state, _ = run(key, experiment, state=state)
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
    test = Examples(data.test_x, data.test_y)
    schedule = Schedule(rounds=1, batch_size=BATCH, eval_batch=len(test.y), placement=devices.available(1))
    experiment = _experiment(job, test, test, 1, schedule)
    return 100 * float(evaluate(_params(weights), experiment.federation).accuracy)


def _experiment(job: Job, train: Examples, test: Examples, clients: int, schedule: Schedule) -> Experiment:
    dataset = Dataset("job", train, test, CLASSES, scaled(255.0, 0.5, 0.5))
    return Experiment(
        method=fedavg(),
        optimizer=client_sgd(RATE),
        data=federate(dataset, Ownership.of(np.split(np.arange(len(train.y)), clients))),
        model=models.build(job.model, SHAPES[job.model][0], CLASSES),
        schedule=schedule,
    )


def _params(weights: Weights) -> Params:
    """The weights in our layout: dense0/kernel becomes the kernel of Dense_0."""
    return unflatten_dict({tuple(_renamed(name, LAYERS).split("/")): jnp.asarray(a) for name, a in weights.items()})


def _weights(params: Params) -> Weights:
    """The other way round than `_params`."""
    back = {ours: theirs for theirs, ours in LAYERS.items()}
    return {_renamed("/".join(path), back): np.asarray(array) for path, array in flatten_dict(params).items()}


def _renamed(name: str, words: dict[str, str]) -> str:
    for old, new in words.items():
        name = name.replace(old, new)
    return name

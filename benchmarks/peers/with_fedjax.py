"""The job in FedJAX: its own FedAvg with a Haiku model, as in its EMNIST example."""

import time

import jax
import numpy as np

if not hasattr(jax, "tree_map"):
    # FedJAX 0.0.17 calls jax.tree.map by a name that newer versions of JAX do not have.
    vars(jax)["tree_map"] = jax.tree.map

import fedjax
import haiku as hk

from benchmarks.peers.job import BATCH, CLASSES, RATE, ROWS, Data, Job, Outcome, Weights, scaled

MODULES = {"dense0": "linear", "dense1": "linear_1", "dense2": "linear_2", "conv0": "conv2_d", "conv1": "conv2_d_1"}
LEAVES = {"kernel": "w", "bias": "b"}


def mlp(batch, is_train):
    hidden = hk.Linear(200)(hk.Flatten()(batch["x"]))
    hidden = hk.dropout(hk.next_rng_key(), 0.5, hidden) if is_train else hidden
    return hk.Linear(CLASSES)(jax.nn.relu(hidden))


def cnn(batch, is_train):
    x = batch["x"]
    for channels in (6, 16):
        x = jax.nn.relu(hk.Conv2D(channels, 5, padding="VALID")(x))
        x = hk.max_pool(x, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    x = hk.Flatten()(x)
    for features in (120, 84):
        x = jax.nn.relu(hk.Linear(features)(x))
    return hk.Linear(CLASSES)(x)


def cross_entropy(batch, scores):
    return -jax.numpy.take_along_axis(jax.nn.log_softmax(scores), batch["y"][:, None], axis=-1)[:, 0]


def train(job: Job, data: Data, weights: Weights) -> Outcome:
    """Trains with its FedAvg on its default backend. Its other backend, pmap, fails on JAX 0.6.2 and later."""
    x, y = scaled(data.x), np.array(data.y)
    parts = [slice(client * ROWS, (client + 1) * ROWS) for client in range(job.clients)]
    datasets = [fedjax.ClientDataset({"x": x[rows], "y": y[rows]}) for rows in parts]
    model = fedjax.create_model_from_haiku(
        hk.transform({"mlp": mlp, "cnn": cnn}[job.model]),
        {"x": x[:BATCH], "y": y[:BATCH]},
        cross_entropy,
        train_kwargs={"is_train": True},
        eval_kwargs={"is_train": False},
    )
    algorithm = fedjax.algorithms.fed_avg.federated_averaging(
        fedjax.model_grad(model),
        fedjax.optimizers.sgd(RATE),
        fedjax.optimizers.sgd(1.0),
        fedjax.ShuffleRepeatBatchHParams(batch_size=BATCH),
    )
    state = algorithm.init(_params(weights))
    times = []
    for round_key in jax.random.split(jax.random.PRNGKey(0), job.rounds):
        started = time.perf_counter()
        keys = jax.random.split(round_key, job.clients)
        state, _ = algorithm.apply(state, [(i, datasets[i], keys[i]) for i in range(job.clients)])
        jax.block_until_ready(state.params)
        times.append(time.perf_counter() - started)
    return Outcome(times[0], times[1:], _weights(state.params, weights), "one process, jit backend")


def _params(weights: Weights) -> dict[str, dict[str, jax.Array]]:
    params: dict[str, dict[str, jax.Array]] = {}
    for name, array in weights.items():
        layer, leaf = name.split("/")
        params.setdefault(MODULES[layer], {})[LEAVES[leaf]] = jax.numpy.asarray(array)
    return params


def _weights(params, like: Weights) -> Weights:
    paths = {name: name.split("/") for name in like}
    return {name: np.asarray(params[MODULES[layer]][LEAVES[leaf]]) for name, (layer, leaf) in paths.items()}

"""What random crops and flips cost beside a training step of the paper's CNN, on this machine.

    python -m benchmarks.augmentation

Preprocessing is timed as the library runs it: in a scan over steps, for one client and for a `vmap` over clients. It
is timed with inputs normalised only, with a plain slice-and-flip of padded images, and with `fedcos_jax.data.augment`.
What the latter two add is given as a share of one step (LeNet shape, forward, backward and SGD). The step is a call of
its own: inside a loop XLA's convolutions are many times slower on a CPU, and any augmentation would look cheap beside
them. All programs take turns, so that a busy machine slows them alike.
"""

import argparse
import functools
from collections.abc import Callable

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.workload import calls, take_turns, verdict
from fedcos_jax.data.augment import PAD, crop_and_flip, normalised
from fedcos_jax.data.cifar import DEVIATION, MEAN

LIMIT = 15.0
"""How much augmentation may cost, in percent of the step."""


class LeNet(nn.Module):
    """conv 5x5x6, pool, conv 5x5x16, pool, dense 120, 84, 10."""

    @nn.compact
    def __call__(self, x):
        for features in (6, 16):
            x = nn.max_pool(nn.relu(nn.Conv(features, (5, 5), padding="VALID")(x)), (2, 2), (2, 2))
        x = x.reshape(x.shape[0], -1)
        for features in (120, 84):
            x = nn.relu(nn.Dense(features)(x))
        return nn.Dense(10)(x)


def naive(x, key):
    """The plain way: pad, slice and flip image by image."""
    down_key, right_key, flip_key = jax.random.split(key, 3)
    down, right = (jax.random.randint(k, x.shape[:1], 0, 2 * PAD + 1) for k in (down_key, right_key))
    flips = jax.random.bernoulli(flip_key, 0.5, x.shape[:1])
    padded = jnp.pad(x.astype(jnp.float32), ((0, 0), (PAD, PAD), (PAD, PAD), (0, 0)))

    def one(image, down, right, flip):
        image = jax.lax.dynamic_slice(image, (down, right, 0), x.shape[1:])
        return jnp.where(flip, image[:, ::-1], image)

    return normalised(MEAN, DEVIATION)(jax.vmap(one)(padded, down, right, flips), None)


VERSIONS: dict[str, Callable] = {
    "normalised only": normalised(MEAN, DEVIATION),
    "naive": naive,
    "ours": crop_and_flip(MEAN, DEVIATION),
}


def make_step(preprocess: Callable, x: jax.Array, y: jax.Array, batch: int) -> Callable:
    """One training step on rows drawn from the key: (parameters, key) -> new parameters."""
    model = LeNet()

    @jax.jit
    def step(params, key):
        rows = jax.random.randint(key, (batch,), 0, x.shape[0])
        inputs = preprocess(x[rows], key)

        def loss(params):
            logits = model.apply(params, inputs)
            return optax.softmax_cross_entropy_with_integer_labels(logits, y[rows]).mean()

        return jax.tree.map(lambda p, g: p - 0.01 * g, params, jax.grad(loss)(params))

    return step


def make_preprocessing(preprocess: Callable, x: jax.Array, batch: int, clients: int, steps: int) -> Callable:
    """The inputs of all `steps` of each client, summed so that XLA leaves none out."""

    def client(key):
        def body(total, step):
            step_key = jax.random.fold_in(key, step)
            return total + preprocess(x[jax.random.randint(step_key, (batch,), 0, x.shape[0])], step_key), None

        return jax.lax.scan(body, jnp.zeros((batch, *x.shape[1:])), jnp.arange(steps))[0]

    return jax.jit(lambda key: jax.vmap(client)(jax.random.split(key, clients)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20, help="times each is measured (default: 20)")
    parser.add_argument("--steps", type=int, default=20, help="steps per client (default: 20)")
    parser.add_argument("--batch", type=int, default=64, help="rows per step (default: 64)")
    parser.add_argument("--clients", type=int, default=10, help="clients in the vmap (default: 10)")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.integers(0, 256, (5000, 32, 32, 3), np.uint8))
    y = jnp.asarray(rng.integers(0, 10, 5000))
    params = LeNet().init(jax.random.key(0), jnp.zeros((1, 32, 32, 3)))
    step = make_step(VERSIONS["normalised only"], x, y, options.batch)
    functions: dict[str, Callable] = {"step": functools.partial(step, params)}
    for clients in (1, options.clients):
        for name, preprocess in VERSIONS.items():
            functions[f"{name}, {clients}"] = make_preprocessing(preprocess, x, options.batch, clients, options.steps)
    timers = {name: calls(lambda f=f: f(jax.random.key(0))) for name, f in functions.items()}
    times = {name: min(seconds) for name, seconds in take_turns(timers, options.rounds).items()}
    whole = times["step"]
    print(f"a step of batch {options.batch}: {1e3 * whole:.2f} ms; fastest of {options.rounds} on {jax.devices()[0]}")
    print(f"{'preprocessing':<16} {'clients':>7} {'ms per step':>11} {'adds, of the step':>18}")
    for clients in (1, options.clients):
        own = {name: times[f"{name}, {clients}"] / (clients * options.steps) for name in VERSIONS}
        for name, each in own.items():
            share = 100 * (each - own["normalised only"]) / whole
            print(f"{name:<16} {clients:>7} {1e3 * each:>11.3f} {share:>17.1f}%")
        cost = 100 * (own["ours"] - own["normalised only"]) / whole
        print(f"{verdict(cost, LIMIT)} the limit of {LIMIT:g}%")


if __name__ == "__main__":
    main()

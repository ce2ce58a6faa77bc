"""What a network written in plain flax.linen costs, in and out of the fast layers, against the same network of ours.

`python -m benchmarks.plain_flax`: a LeNet of `nn.Conv` and `nn.max_pool`, 10 clients and batches of 32, on all cores.
The programs take turns, and the ratios are of samples per second in one run.
"""

import flax.linen as nn
import jax

from benchmarks.scenes import SCENES, divided
from benchmarks.workload import experiment, rounds, take_turns
from fedcos_jax import devices, fedavg, from_flax, models

CLIENTS, BATCH, REPEATS = 10, 32, 5
STEPS = {"fedcos_jax": 20, "flax": 20, "flax, fast_layers=False": 2}
"""Local steps per round. Few are enough where they are slow."""


class LeNet(nn.Module):
    """`models.CNN` as a user of flax writes it."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """Images [batch, height, width, channels] -> scores [batch, classes]."""
        for features in (6, 16):
            x = nn.relu(nn.Conv(features, (5, 5), padding="VALID")(x))
            x = nn.max_pool(x, (2, 2), strides=(2, 2))
        x = x.reshape(x.shape[0], -1)
        for features in (120, 84):
            x = nn.relu(nn.Dense(features)(x))
        return nn.Dense(10)(x)


def main() -> None:
    devices.use_all_cores()
    scene = SCENES["cnn"]._replace(batch=BATCH, augmented=False)
    data = divided(scene.random_dataset(CLIENTS * 20 * BATCH, 10), "iid", CLIENTS)
    programs = {
        "fedcos_jax": models.build("cnn", scene.input_shape, scene.classes),
        "flax": from_flax(LeNet(), scene.input_shape),
        "flax, fast_layers=False": from_flax(LeNet(), scene.input_shape, fast_layers=False),
    }
    timers = {
        name: rounds(experiment(fedavg(), data, model, local_steps=STEPS[name], batch_size=BATCH))
        for name, model in programs.items()
    }
    seconds = take_turns(timers, REPEATS)
    speeds = {name: CLIENTS * BATCH * STEPS[name] / min(times) for name, times in seconds.items()}
    for name, speed in speeds.items():
        print(f"{name}: {speed:,.0f} samples/s, {speed / speeds['fedcos_jax']:.2f} of fedcos_jax")


if __name__ == "__main__":
    main()

"""Crops and flips: what they do to an image, how often, and that evaluation is left alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedcos_jax.data import augment, cifar, federate, load
from fedcos_jax.data.partition import Ownership
from fedcos_jax.engine.client import LocalTask, train_client
from fedcos_jax.engine.experiment import Experiment
from fedcos_jax.engine.schedule import Schedule
from fedcos_jax.methods import fedavg
from fedcos_jax.models import Model
from fedcos_jax.optimizers import client_sgd
from fedcos_jax.types import LocalContext

PREPROCESS = augment.crop_and_flip(cifar.MEAN, cifar.DEVIATION)


def images(count: int, side: int = 32, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(1, 256, (count, side, side, 3), np.uint8)


def reference(image: np.ndarray, down: int, right: int, mirror: bool) -> np.ndarray:
    """Pad, crop, flip: what torchvision's RandomCrop and RandomHorizontalFlip do."""
    height, width, _ = image.shape
    padded = np.pad(image, ((4, 4), (4, 4), (0, 0)))
    crop = padded[4 + down : 4 + down + height, 4 + right : 4 + right + width]
    return crop[:, ::-1] if mirror else crop


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**31), count=st.sampled_from([1, 7]), side=st.sampled_from([5, 32]))
def test_each_image_is_padded_cropped_and_flipped(seed, count, side):
    x, key = images(count, side), jax.random.key(seed)
    down, right, mirror = map(np.asarray, augment.draw_moves(key, count))
    found = jax.jit(augment.random_crops)(jnp.asarray(x), key)
    assert found.dtype == jnp.uint8
    for i in range(count):
        np.testing.assert_array_equal(found[i], reference(x[i], down[i], right[i], mirror[i]))


def test_all_81_shifts_and_both_sides_are_equally_likely():
    down, right, mirror = map(np.asarray, augment.draw_moves(jax.random.key(0), 81_000))
    assert (down.min(), down.max(), right.min(), right.max()) == (-4, 4, -4, 4)
    cells = np.bincount((down + 4) * 9 + right + 4, minlength=81)
    # Chi-squared with 80 degrees of freedom exceeds 135 once in ten thousand times.
    assert ((cells - 1000) ** 2 / 1000).sum() < 135
    assert abs(mirror.mean() - 0.5) < 0.01
    assert abs(np.corrcoef([down, right, mirror])[np.triu_indices(3, 1)]).max() < 0.02


def test_evaluation_only_normalises():
    x = images(4)
    expected = (x / 255 - np.array(cifar.MEAN)) / np.array(cifar.DEVIATION)
    np.testing.assert_allclose(PREPROCESS(jnp.asarray(x), None), expected, rtol=1e-4, atol=1e-4)


def test_black_is_normalised_too():
    """Pixels outside the image are black before normalisation, not the mean colour."""
    found = np.asarray(jax.jit(PREPROCESS)(jnp.asarray(images(64)), jax.random.key(1)))
    black = -np.array(cifar.MEAN) / np.array(cifar.DEVIATION)
    np.testing.assert_allclose(found.min(axis=(0, 1, 2)), black, rtol=1e-4)


def test_keys_decide_and_jit_and_vmap_agree():
    x = jnp.asarray(images(12)).reshape(3, 4, 32, 32, 3)
    keys = jax.random.split(jax.random.key(2), 3)
    together = jax.jit(jax.vmap(augment.random_crops))(x, keys)
    alone = jax.jit(augment.random_crops)
    for i in range(3):
        np.testing.assert_array_equal(together[i], alone(x[i], keys[i]))
    np.testing.assert_array_equal(together[0], augment.random_crops(x[0], keys[0]))
    assert not np.array_equal(together[0], alone(x[0], keys[1]))


def test_the_noise_is_of_the_round_the_client_and_the_step(monkeypatch, tmp_path, tiny_cifar10):
    tiny_cifar10.write("binary", tmp_path)
    tiny_cifar10.publish(monkeypatch)
    dataset = load("cifar10", data_dir=tmp_path)
    same = np.zeros_like(dataset.train.x) + dataset.train.x[:1]  # so that inputs differ by augmentation alone
    dataset = dataset._replace(train=dataset.train._replace(x=same))
    data = federate(dataset, Ownership.of([np.arange(5), np.arange(5, 10)]))
    inputs: list[np.ndarray] = []

    def apply(params, x, key):
        jax.debug.callback(lambda x: inputs.append(np.array(x)), x, ordered=True)
        return params[None, :] * jnp.ones((x.shape[0], 1))

    model, schedule = Model(lambda key: jnp.zeros(10), apply), Schedule(rounds=1, local_steps=2, batch_size=4)
    federation = Experiment(
        method=fedavg(), optimizer=client_sgd(0.1), data=data, model=model, schedule=schedule
    ).federation
    penalty = federation.method.penalty

    @jax.jit
    def two_steps(noise_key, client):
        params = model.init(noise_key)
        context = LocalContext(params, penalty.init(params), client, penalty.client_init(params))
        task = LocalTask(context, jnp.int32(2), jnp.int32(0), jax.random.key(9), noise_key)
        return train_client(task, federation, client_sgd(0.1)(jnp.int32(0), client), 2)

    for round, client in [(0, 0), (0, 1), (1, 0), (1, 1), (1, 1)]:
        noise_key = jax.random.fold_in(jax.random.key(round), client)
        jax.block_until_ready(two_steps(noise_key, jnp.int32(client)))
    jax.effects_barrier()
    different, again = inputs[:8], inputs[8:]
    np.testing.assert_array_equal(again, different[6:])
    assert not any(np.array_equal(a, b) for i, a in enumerate(different) for b in different[:i])


@pytest.mark.parametrize("x64", [False, True])
def test_precision_follows_the_setting(x64):
    with jax.enable_x64(x64):
        preprocess = augment.crop_and_flip(cifar.MEAN, cifar.DEVIATION)
        x = jax.eval_shape(preprocess, jnp.asarray(images(2)), jax.random.key(0))
    assert x.dtype == (np.float64 if x64 else np.float32)

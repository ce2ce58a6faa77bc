"""A sweep is its points run one by one, and one compiled program."""

import chex
import jax
import numpy as np
import pytest
from problems import SOFTMAX_REGRESSION, gaussian_data

from fedcos_jax import Schedule, client_sgd, fedavg, fedcos, run
from fedcos_jax.errors import InputError
from fedcos_jax.methods import in_paper_form, parse
from fedcos_jax.engine.sweeps import Trial, _compiled_block, fitting_chunk, grid, sweep

SCHEDULE = Schedule(rounds=3, local_steps=3, batch_size=3, eval_every=2)
POINTS = grid(strength=[0.0, 0.2, 0.5], lr=[0.05, 0.1], seed=[0, 1])


def trial(strength, lr, seed):
    return Trial(jax.random.key(seed), fedcos(strength), client_sgd(lr))


def close(a, b):
    chex.assert_trees_all_close(jax.device_get(a), jax.device_get(b), rtol=1e-9, atol=1e-12)


def test_grid_is_every_combination():
    assert grid(a=[1, 2], b="xy") == [{"a": 1, "b": "x"}, {"a": 1, "b": "y"}, {"a": 2, "b": "x"}, {"a": 2, "b": "y"}]
    with pytest.raises(InputError, match="axis b of the grid has no values"):
        grid(a=[1], b=[])


@pytest.mark.parametrize("chunk", [None, 1, 5, 12, 100])
def test_a_sweep_is_its_points_one_by_one(x64, chunk):
    data = gaussian_data()
    done = []
    swept = sweep(trial, POINTS, data, SOFTMAX_REGRESSION, SCHEDULE, chunk=chunk, progress=done.append)
    for i, point in enumerate(POINTS):
        alone = run(*trial(**point)[:3], data, SOFTMAX_REGRESSION, SCHEDULE)[1]
        close(jax.tree.map(lambda leaf, i=i: leaf[i], swept), alone)
    assert done[-1] == len(POINTS)
    assert done == sorted(set(done))


def test_partitions_and_methods_of_one_structure(x64):
    """Two who-owns-what of equal shape, and two methods in the form all rows of a table share."""
    first, second = gaussian_data((4, 7, 6, 9)), gaussian_data((6, 6, 7, 7))
    owners = [(first.indices, first.offsets), (second.indices, second.offsets)]
    labels = ["FedAvg", "FedOpt(1.5)+FedCos(0.2)"]

    def trial(label, owner):
        return Trial(jax.random.key(0), in_paper_form(parse(label)), client_sgd(0.1), *owners[owner])

    points = grid(label=labels, owner=[0, 1])
    swept = sweep(trial, points, first, SOFTMAX_REGRESSION, SCHEDULE, chunk=2)
    for i, point in enumerate(points):
        indices, offsets = owners[point["owner"]]
        owned = first._replace(indices=indices, offsets=offsets)
        method = parse(point["label"]).build()
        alone = run(jax.random.key(0), method, client_sgd(0.1), owned, SOFTMAX_REGRESSION, SCHEDULE)[1]
        close(jax.tree.map(lambda leaf, i=i: leaf[i], swept), alone)


def test_new_values_compile_nothing():
    data = gaussian_data()
    sweep(trial, grid(strength=[0.1, 0.2], lr=[0.1], seed=[0]), data, SOFTMAX_REGRESSION, SCHEDULE, chunk=2)
    before = _compiled_block._cache_size()
    sweep(trial, grid(strength=[0.3, 0.7], lr=[0.2], seed=[5]), data, SOFTMAX_REGRESSION, SCHEDULE, chunk=2)
    assert _compiled_block._cache_size() == before


def test_the_chunk_follows_the_memory():
    data = gaussian_data()
    stacked = Trial(
        jax.random.key(0)[None],
        jax.tree.map(lambda x: np.asarray([x], np.float32), fedcos(0.1)),
        jax.tree.map(lambda x: np.asarray([x], np.float32), client_sgd(0.1)),
        data.indices[None],
        data.offsets[None],
    )
    analysis = (
        _compiled_block.lower(stacked, data, model=SOFTMAX_REGRESSION, schedule=SCHEDULE, devices=1)
        .compile()
        .memory_analysis()
    )
    bytes_of_one = analysis.temp_size_in_bytes + analysis.output_size_in_bytes
    for chunk in (1, 7):
        assert fitting_chunk(stacked, data, SOFTMAX_REGRESSION, SCHEDULE, memory=chunk * bytes_of_one) == chunk
    assert fitting_chunk(stacked, data, SOFTMAX_REGRESSION, SCHEDULE, memory=1) == 1
    assert fitting_chunk(stacked, data, SOFTMAX_REGRESSION, SCHEDULE) == 1


def test_mistakes():
    data = gaussian_data()

    def mixed(kind):
        return Trial(jax.random.key(0), [fedavg(), fedcos(0.1)][kind], client_sgd(0.1))

    with pytest.raises(InputError, match="share one structure"):
        sweep(mixed, grid(kind=[0, 1]), data, SOFTMAX_REGRESSION, SCHEDULE)
    with pytest.raises(InputError, match="at least one point"):
        sweep(mixed, [], data, SOFTMAX_REGRESSION, SCHEDULE)
    with pytest.raises(InputError, match="differ in the shapes"):
        sweep(
            lambda offsets: Trial(jax.random.key(0), fedavg(), client_sgd(0.1), None, np.arange(offsets)),
            grid(offsets=[3, 4]),
            data,
            SOFTMAX_REGRESSION,
            SCHEDULE,
        )

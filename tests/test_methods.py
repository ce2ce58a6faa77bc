"""Every method of the registry against NumPy float64, and the properties all methods share."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fedcos_jax import (
    Schedule,
    client_sgd,
    fedadam,
    fedavg,
    fedavgm,
    fedcos,
    fedopt,
    fedprox,
    optimizers,
    run,
    simulate,
    with_fedcos,
)
from fedcos_jax.engine import devices, sampling
from fedcos_jax.engine.rounds import init_state, one_round
from fedcos_jax.errors import InputError
from fedcos_jax.labels import METHODS, WRAPPERS, MethodSpec, Options, parse
from tests.problems import SOFTMAX_REGRESSION, gaussian_data, small_experiment
from tests.reference import Reference

KEY = jax.random.key(3)
COHORT = jax.jit(sampling.cohort, static_argnums=(1, 2))
EPOCH_BATCH = jax.jit(sampling.epoch_batch, static_argnums=3)
ONE = devices.available(1)
SCHEDULE = Schedule(rounds=5, local_steps=4, batch_size=3, placement=ONE)
PARTIAL = Schedule(rounds=6, local_steps=3, batch_size=4, cohort=2, placement=ONE)

REFERENCES = {
    "FedAvg": Reference(),
    "FedProx(0.1)": Reference(prox=0.1),
    "FedAvgM(0.5)": Reference(server_momentum=0.5),
    "FedOpt(1.5)": Reference(server_lr=1.5),
    "FedAdam(0.05)": Reference(server_lr=0.05, adaptive="adam"),
    "FedYogi(0.05)": Reference(server_lr=0.05, adaptive="yogi"),
    "FedNova": Reference(normalized=True),
    "SCAFFOLD": Reference(control=True, uniform=True),
    "FedDyn(0.4)": Reference(dynamic=0.4, uniform=True),
    "FedCos(0.3)": Reference(cos=0.3),
    "FedProx(0.1)+FedCos(0.3)": Reference(prox=0.1, cos=0.3),
    "FedAvgM(0.5)+FedCos(0.3)": Reference(server_momentum=0.5, cos=0.3),
    "FedOpt(1.5)+FedCos(0.3)": Reference(server_lr=1.5, cos=0.3),
    "FedAdam(0.05)+FedCos(0.3)": Reference(server_lr=0.05, adaptive="adam", cos=0.3),
    "FedYogi(0.05)+FedCos(0.3)": Reference(server_lr=0.05, adaptive="yogi", cos=0.3),
    "FedNova+FedCos(0.3)": Reference(normalized=True, cos=0.3),
    "SCAFFOLD+FedCos(0.3)": Reference(control=True, uniform=True, cos=0.3),
    "FedDyn(0.4)+FedCos(0.3)": Reference(dynamic=0.4, uniform=True, cos=0.3),
}
BEYOND_THE_PAPER = ("FedAdam", "FedYogi", "FedNova", "SCAFFOLD", "FedDyn")
PAPER_LABELS = [label for label in REFERENCES if not label.startswith(BEYOND_THE_PAPER)]
OPTION_REFERENCES = [
    ("FedProx(0.1)", Options(half_proximal=True), Reference(prox=0.05)),
    ("FedAvgM(0.5)", Options(damped_momentum=True), Reference(server_momentum=0.5, damped=True)),
    ("FedCos(0.3)", Options(epsilon=0), Reference(cos=0.3, epsilon=0)),
    ("FedAvg", Options(uniform_weights=True), Reference(uniform=True)),
    (
        "FedAvgM(0.5)+FedCos(0.3)",
        Options(before_server=True, damped_momentum=True),
        Reference(server_momentum=0.5, damped=True, cos=0.3, before_server=True),
    ),
]


def library_trajectory(method, optimizer, data, schedule):
    """The global parameters after each round as vectors (b, then w), from the library."""
    federation = small_experiment(method, schedule, optimizer=optimizer, data=data).federation
    step = jax.jit(lambda s: one_round(s, federation)[0])
    state = init_state(KEY, federation)
    vectors = []
    for _ in range(schedule.rounds):
        state = step(state)
        vectors.append(np.concatenate([np.ravel(state.params["b"]), np.ravel(state.params["w"])]))
    return vectors


def reference_trajectory(reference, data, schedule):
    """The same from NumPy, fed with the library's cohorts and batches (which test_sampling checks)."""
    federation = small_experiment(schedule=schedule, data=data).federation
    cohort_key, order_key, _ = jax.random.split(init_state(KEY, federation).key, 3)
    offsets = np.asarray(data.offsets)
    rows_of = {i: np.asarray(data.indices)[offsets[i] : offsets[i + 1]] for i in range(data.num_clients)}

    def steps(client):
        if schedule.local_epochs is None:
            return schedule.local_steps
        return schedule.local_epochs * -(-len(rows_of[client]) // schedule.batch_size)

    cohorts = []
    for r in range(schedule.rounds):
        key = jax.random.fold_in(cohort_key, r)
        cohort = np.asarray(COHORT(key, data.num_clients, federation.shapes.cohort)).tolist()
        cohorts.append((cohort, [steps(client) for client in cohort]))

    def batches(client, step):
        key = jax.random.fold_in(order_key, client)
        positions, mask = EPOCH_BATCH(key, len(rows_of[client]), step, schedule.batch_size)
        return np.asarray(positions)[np.asarray(mask)]

    start = SOFTMAX_REGRESSION.init(KEY)
    x, y = np.asarray(data.train.x), np.asarray(data.train.y)
    return reference.run(np.asarray(start["w"]), np.asarray(start["b"]), x, y, rows_of, cohorts, batches)


def assert_agree(method, reference, schedule=SCHEDULE, optimizer=None):
    data = gaussian_data()
    ours = library_trajectory(method, optimizer or client_sgd(0.1), data, schedule)
    np.testing.assert_allclose(ours, reference_trajectory(reference, data, schedule), rtol=0, atol=1e-9)


@pytest.mark.parametrize("schedule", [SCHEDULE, PARTIAL], ids=["all clients", "cohorts of 2"])
@pytest.mark.parametrize("label", REFERENCES)
def test_equals_numpy(x64, label, schedule):
    assert_agree(parse(label).build(), REFERENCES[label], schedule)


@pytest.mark.parametrize(
    ("label", "options", "reference"), OPTION_REFERENCES, ids=[str(o[:2]) for o in OPTION_REFERENCES]
)
def test_options_equal_numpy(x64, label, options, reference):
    assert_agree(parse(label).build(options), reference)
    assert_agree(parse(label).in_paper_form(options), reference)


def test_uniform_fednova_still_counts_moves_a_step(x64):
    schedule = Schedule(rounds=5, local_epochs=2, batch_size=4, cohort=3, placement=ONE)
    reference = dataclasses.replace(REFERENCES["FedNova"], uniform=True)
    assert_agree(parse("FedNova").build(Options(uniform_weights=True)), reference, schedule)


def test_every_registered_method_has_a_reference():
    specs = [parse(label) for label in REFERENCES]
    assert {spec.base.name for spec in specs} == set(METHODS)
    assert {term.name for spec in specs for term in spec.wrappers} == set(WRAPPERS)


def test_per_client_numbers_equal_numpy(x64):
    strengths, rates = np.array([0.0, 0.1, 0.5, 0.3]), np.array([0.1, 0.02, 0.3, 0.05])
    prox = np.array([0.2, 0.0, 0.1, 0.4])
    method = with_fedcos(fedprox(prox), strengths)
    reference = Reference(prox=prox, cos=strengths, lr=rates)
    assert_agree(method, reference, PARTIAL, client_sgd(rates))


@pytest.mark.parametrize(
    ("schedule", "factors"),
    [
        (optimizers.exponential(0.5), [1, 0.5, 0.25, 0.125, 0.0625]),
        (optimizers.cosine_decay(4), [1, 0.5 + 0.5**1.5, 0.5, 0.5 - 0.5**1.5, 0]),
    ],
    ids=["exponential", "cosine"],
)
def test_client_optimizer_equals_numpy(x64, schedule, factors):
    optimizer = client_sgd(0.1, momentum=0.9, weight_decay=0.01, schedule=schedule)
    reference = Reference(cos=0.3, momentum=0.9, weight_decay=0.01, lr_factor=factors)
    assert_agree(fedcos(0.3), reference, SCHEDULE, optimizer)


@pytest.mark.parametrize("label", ["FedCos(0.3)", "FedNova", "SCAFFOLD", "FedDyn(0.4)"])
def test_local_epochs_equal_numpy(x64, label):
    schedule = Schedule(rounds=5, local_epochs=2, batch_size=4, cohort=3, placement=ONE)
    assert_agree(parse(label).build(), REFERENCES[label], schedule)


# FedCos on top of a method has every part of the method alone.
LABELS = [label for label in REFERENCES if "FedCos" in label]


def final_params(method, key=KEY, schedule=SCHEDULE, rate=0.1):
    return run(key, small_experiment(method, schedule, optimizer=client_sgd(rate)))[0].params


def assert_trees_close(a, b, tolerance=1e-6):
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance), a, b)


@pytest.mark.parametrize("label", LABELS)
def test_history_is_finite(label):
    _, history = run(KEY, small_experiment(parse(label).build(), SCHEDULE))
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(history))
    assert history.rounds.global_move.min() > 0


@pytest.mark.parametrize("label", LABELS)
def test_compiled_equals_eager(label):
    method = parse(label).build()
    schedule = dataclasses.replace(SCHEDULE, rounds=2, local_steps=2)
    federation = small_experiment(method, schedule).federation
    with jax.disable_jit():
        state = init_state(KEY, federation)
        for _ in range(2):
            state, _ = one_round(state, federation)
    assert_trees_close(final_params(method, schedule=schedule), state.params)


@pytest.mark.parametrize("label", LABELS)
def test_stacked_methods_vmapped_equal_a_loop(label):
    spec, keys = parse(label), jax.random.split(KEY, 3)

    def scaled(term, factor):
        return term._replace(values=tuple(value and value * factor for value in term.values))

    scaled_specs = [
        MethodSpec(scaled(spec.base, f), tuple(scaled(term, f) for term in spec.wrappers)) for f in (0.5, 0.8, 1)
    ]
    built = [jax.tree.map(jnp.asarray, s.build()) for s in scaled_specs]
    experiment = small_experiment(schedule=SCHEDULE)

    def params(key, method):
        return simulate(key, experiment.replace(method=method))[0].params

    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *built)
    together = jax.jit(jax.vmap(params))(keys, stacked)
    for i, method in enumerate(built):
        assert_trees_close(jax.tree.map(lambda leaf, i=i: leaf[i], together), final_params(method, keys[i]))


@pytest.mark.parametrize(
    "method",
    [
        fedprox(0.0),
        fedavgm(0.0),
        fedavgm(0.0, damped=True),
        fedopt(1.0),
        fedcos(0.0),
        with_fedcos(fedprox(0), 0),
        parse("FedAvg").in_paper_form(),
    ],
)
def test_degenerate_numbers_give_fedavg(method):
    assert_trees_close(final_params(method), final_params(fedavg()))


@pytest.mark.parametrize("label", PAPER_LABELS)
def test_paper_form_equals_the_lean_method(label):
    spec = parse(label)
    assert_trees_close(final_params(spec.in_paper_form()), final_params(spec.build()))


@pytest.mark.parametrize("build", [fedcos, fedprox, fedavgm, fedopt, fedadam, client_sgd])
@pytest.mark.parametrize("number", [-0.1, float("nan"), float("inf")])
def test_numbers_out_of_range(build, number):
    with pytest.raises(InputError, match="must be at least 0"):
        build(number)

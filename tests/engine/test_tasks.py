"""Tasks that are not classification, end to end against NumPy."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fedcos_jax as fc

RNG = np.random.default_rng(0)


def experiment(dataset, model, clients=3, **schedule):
    ownership = fc.partition.build("iid", dataset.train.y, clients, 0)
    schedule = {"rounds": 3, "local_steps": 4, "batch_size": 64, "eval_every": 3} | schedule
    return fc.Experiment(
        method=fc.fedavg(),
        optimizer=fc.client_sgd(0.1),
        data=fc.federate(dataset, ownership),
        model=model,
        schedule=fc.Schedule(**schedule),
    )


def test_a_regression_takes_the_steps_of_numpy(x64):
    """Whole batches make every step a step of gradient descent on the client's own mean squared error."""
    x, y = RNG.normal(size=(90, 4)), RNG.normal(size=(90, 2))
    dataset = fc.from_arrays((x[:60], y[:60]), (x[60:], y[60:]))
    model = fc.Model(
        init=lambda key: jnp.zeros((4, 2)),
        apply=lambda w, x, key: x @ w,
        loss=fc.losses.squared_error,
        metrics=(fc.losses.RMSE, fc.losses.MAE),
    )
    what = experiment(dataset, model)
    state, history = fc.run(jax.random.key(0), what)
    w, parts = np.zeros((4, 2)), np.split(np.asarray(what.data.indices), 3)
    for _ in range(3):
        ends = []
        for rows in parts:
            own = w
            for _ in range(4):
                own = own - 0.1 * 2 * x[rows].T @ (x[rows] @ own - y[rows]) / (2 * len(rows))
            ends.append(own)
        w = np.mean(ends, axis=0)
    error = x[60:] @ w - y[60:]
    np.testing.assert_allclose(state.params, w, rtol=1e-10)
    assert float(history.evaluation.rmse[-1]) == pytest.approx(np.sqrt((error**2).mean()), rel=1e-10)
    assert float(history.evaluation.mae[-1]) == pytest.approx(abs(error).mean(), rel=1e-10)
    assert float(history.evaluation.loss[-1]) == pytest.approx((error**2).mean(), rel=1e-10)


def test_several_labels_per_row_are_learned():
    x = RNG.normal(size=(300, 5)).astype(np.float32)
    y = x[:, :3] > 0
    model = fc.Model(
        init=lambda key: jnp.zeros((5, 3)),
        apply=lambda w, x, key: x @ w,
        loss=fc.losses.sigmoid_cross_entropy,
        metrics=(fc.losses.LABEL_ACCURACY,),
    )
    what = experiment(fc.from_arrays((x[:200], y[:200]), (x[200:], y[200:])), model, local_steps=20)
    state, history = fc.run(jax.random.key(0), what)
    expected = ((x[200:] @ np.asarray(state.params) > 0) == y[200:]).mean()
    assert float(history.evaluation.label_accuracy[-1]) == pytest.approx(expected, rel=1e-5)
    assert expected > 0.9


class EveryPosition(nn.Module):
    @nn.compact
    def __call__(self, x, train=False):
        return nn.Dense(5)(fc.models.lstm.LSTMLayer(12)(nn.Embed(5, 4)(x).swapaxes(0, 1)).swapaxes(0, 1))


@pytest.mark.parametrize("count", [1, 2])
def test_an_lstm_predicts_every_position(count):
    """The text repeats 0 1 2 3 4. Every other row has padding, which neither loss nor metrics count."""
    windows = (np.arange(240)[:, None] + np.arange(7)[None]) % 5
    x, y = windows[:, :-1].astype(np.int32), windows[:, 1:].copy()
    y[::2, 3:] = -1
    dataset = fc.from_arrays((x[:180], y[:180]), (x[180:], y[180:]))
    model = fc.from_flax(EveryPosition(), (6,), "int32")._replace(
        loss=fc.losses.token_cross_entropy, metrics=(fc.losses.TOKEN_ACCURACY, fc.losses.PERPLEXITY)
    )
    what = experiment(dataset, model, local_steps=40, placement=fc.devices.available(count), eval_batch=17)
    what = what.replace(optimizer=fc.client_sgd(1.0))
    state, history = fc.run(jax.random.key(0), what)
    logits = np.asarray(model.apply(state.params, jnp.asarray(x[180:]), None), np.float64)
    real, labels = y[180:] >= 0, np.maximum(y[180:], 0)
    log_probabilities = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    losses = -np.take_along_axis(log_probabilities, labels[..., None], -1)[..., 0][real].mean()
    assert float(history.evaluation.loss[-1]) == pytest.approx(losses, rel=1e-4)
    assert float(history.evaluation.perplexity[-1]) == pytest.approx(np.exp(losses), rel=1e-4)
    assert float(history.evaluation.token_accuracy[-1]) == pytest.approx((logits.argmax(-1) == labels)[real].mean())
    assert float(history.evaluation.token_accuracy[-1]) > 0.9


def test_a_run_stops_at_any_metric():
    x = RNG.normal(size=(60, 2)).astype(np.float32)
    dataset = fc.from_arrays((x, x[:, 0]), (x, x[:, 0]))
    model = fc.Model(
        init=lambda key: jnp.zeros(2),
        apply=lambda w, x, key: x @ w,
        loss=fc.losses.squared_error,
        metrics=(fc.losses.RMSE,),
    )
    what = experiment(dataset, model, rounds=50, eval_every=1)
    _, history = fc.run(jax.random.key(0), what, callbacks=[fc.stop_at(rmse=0.1)])
    rmse = history.evaluation.rmse
    assert rmse[-1] <= 0.1 < rmse[-2]
    with pytest.raises(fc.InputError, match=r"unknown metric 'accuracy' \(one of: rmse, loss\)"):
        fc.run(jax.random.key(0), what, callbacks=[fc.stop_at(accuracy=0.9)])
    for name in ("test_loss", "client_rmse", "train_loss", "a b"):
        with pytest.raises(fc.InputError, match="a metric cannot be called"):
            what.replace(model=model._replace(metrics=(fc.Metric(name, fc.losses.squared_error),)))

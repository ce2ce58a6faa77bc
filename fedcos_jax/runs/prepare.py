"""From a config to the experiment it describes: everything is checked and loaded, nothing is compiled yet."""

import dataclasses
from typing import NamedTuple

from fedcos_jax import data
from fedcos_jax.engine.experiment import Experiment
from fedcos_jax.runs.config import Config


class Prepared(NamedTuple):
    """A checked config, its labels and counts resolved, and its experiment."""

    config: Config
    experiment: Experiment


def prepare(
    config: Config, data_dir: str | None = None, *, source: str = "auto", in_paper_form: bool = False
) -> Prepared:
    """Checks a config and loads what it names.

    Args:
        config: what to run.
        data_dir: where local datasets are. None for FEDCOS_DATA_DIR.
        source: of the dataset, as in `data.load`.
        in_paper_form: give the method the structure that the methods of the paper's tables share, so that the rows of a
            table are one compiled program.

    Example:
        >>> config, experiment = prepare(Config(method="FedAvg", rounds=5))
        >>> state, history = fc.run(jax.random.key(config.seed), experiment)
    """
    config = config.pinned()
    spec = config.spec
    method = spec.in_paper_form(config.options) if in_paper_form else spec.build(config.options)
    optimizer = config.optimizer()
    dataset = config.load(data_dir, source)
    model = config.architecture(dataset)
    ownership, cohorts = config.draws(dataset)
    experiment = Experiment(
        method=method,
        optimizer=optimizer,
        data=data.federate(dataset, ownership, cohorts),
        model=model,
        schedule=config.schedule(ownership.num_clients),
    )
    return Prepared(dataclasses.replace(config, method=spec.label, clients=ownership.num_clients), experiment)

"""FedCos against server learning rates: Fig. "Comparison of FedCos and FedOpt", LeNet on CIFAR10, 200 rounds.

Command: `python -m experiments.reproduce server_rates [--profile short|paper --data-dir DIR]`
Time: quick 37 seconds on 2 CPU cores.
Paper: FedOpt is faster at first and ends where FedAvg ends; FedCos stays ahead. Clients are not given: here Table I's.
Ours, quick, mean of the last ten rounds: FedAvg 86.2, FedOpt(1.2) 89.3, FedOpt(1.5) 90.5, FedOpt(1.7) 89.3,
FedOpt(2) 93.1, FedCos(0.02) 94.8.
"""

from dataclasses import replace

from experiments.declare import Profile, Table
from experiments.figures.curves import accuracy_figure
from experiments.tables.table1 import SETTINGS
from fedcos_jax.runs.config import Config

SCENE = Config(dataset="cifar10", model="lenet", clients=5, epsilon=0.0)

TABLE = Table(
    name="server_rates",
    title="FedOpt with several server learning rates, LeNet, CIFAR10",
    methods=("FedAvg", "FedOpt(1.2)", "FedOpt(1.5)", "FedOpt(1.7)", "FedOpt(2)", "FedCos(0.02)"),
    settings={"sorted": SETTINGS["sorted"]},
    paper={},
    profiles={
        "quick": Profile(
            replace(SCENE, rounds=40, local_steps=20, batch_size=32, lr=0.1),
            "40 rounds of 20 steps, batch 32, learning rate 0.1.",
            {"cifar10": "digits(16)"},
        ),
        "short": Profile(
            replace(SCENE, rounds=50, local_steps=100, batch_size=128, lr=0.01),
            "The paper's data and 50 rounds of 100 steps instead of 200 of 400.",
        ),
        "paper": Profile(
            replace(SCENE, rounds=200, local_steps=400, batch_size=128, lr=0.01, replay=111),
            "The paper's data and its 200 rounds. The 400 steps, batch 128, learning rate 0.01 and initial parameters "
            "are those of Table I.",
        ),
    },
)
FIGURE = accuracy_figure(
    "server_rates",
    "FedCos and FedOpt's server learning rate",
    "FedOpt is faster at first but ends where FedAvg ends, and jitters from 1.7 on; FedCos stays ahead.",
    TABLE,
)

"""A deeper network: Fig. "Performance comparison for ResNet18", CIFAR10, 5 totally non-IID clients.

Command: `python -m experiments.reproduce deep [--profile short|paper --data-dir DIR]`
Time: quick 102 seconds on 2 CPU cores.
Paper: FedCos with either strength is well above FedAvg all the way. It gives no schedule: this one is Table III's.
Ours, quick, last round: FedAvg 71.9, FedCos(0.01) 87.5, FedCos(0.02) 83.9.
"""

from dataclasses import replace

from experiments.declare import Profile, Table
from experiments.figures.curves import accuracy_figure
from experiments.tables.table1 import SETTINGS
from fedcos_jax.runs.config import Config

SCENE = Config(dataset="cifar10", model="resnet18", clients=5, lr=0.1, epsilon=0.0)

TABLE = Table(
    name="deep",
    title="ResNet18, CIFAR10, totally non-IID",
    methods=("FedAvg", "FedCos(0.01)", "FedCos(0.02)"),
    settings={"sorted": SETTINGS["sorted"]},
    paper={},
    profiles={
        "quick": Profile(
            replace(SCENE, rounds=15, local_steps=20, batch_size=32, lr=0.05),
            "15 rounds of 20 steps, batch 32, learning rate 0.05.",
            {"cifar10": "digits", "resnet18": "resnet18_narrow"},
        ),
        "short": Profile(
            replace(SCENE, rounds=20, local_steps=50, batch_size=64),
            "The paper's data and 20 rounds of 50 steps instead of 100 of 200.",
            {"resnet18": "resnet18_narrow"},
        ),
        "paper": Profile(
            replace(SCENE, rounds=100, local_steps=200, batch_size=64),
            "The paper's data and 100 rounds of 200 steps. Batch 64 and learning rate 0.1 are as in Table III.",
        ),
    },
)
FIGURE = accuracy_figure(
    "deep",
    "A deeper network: ResNet18",
    "FedCos is well above FedAvg with ResNet18, too.",
    TABLE,
)

"""Table IV: cross-device, 100 clients with two shards each, 10% or 20% of them a round; best and last of 250 rounds.

Command: `python -m experiments.reproduce table4 [--profile short|paper --data-dir DIR]`. The quick profile takes 52
seconds on 2 idle CPU cores, compilation included.

Paper, best and last of 250 rounds: FedAvg 49.91 and 48.69, 51.44 and 50.61, 82.69 and 79.68, 83.29 and 79.96 (CIFAR10
10%, 20%, FMNIST 10%, 20%), FedCos(0.05) 59.36 and 57.50, 61.80 and 59.07, 85.69 and 85.22, 86.74 and 85.87. Ours at the
paper's schedule (seed 0; 80 and 157 seconds a cell of FMNIST on one core of a Zen 5; 13 minutes of CIFAR10 at 10%,
beside other work): FedAvg 49.38 and 48.91, not run, 82.57 and 79.44, 83.31 and 80.36, FedCos(0.05) 58.16 and 56.02, not
run, 85.85 and 84.57, 86.81 and 86.11. On FMNIST the eight best rounds are within 0.3 of the paper, the eight last ones
within 1.1. The quick profile's stand-ins (seed 0): FedCos(0.05) +10.6, +8.3, +1.7, +2.8 on FedAvg. Its learning rate is
the smaller of the two tried with the CNN; at 0.1 the best round gained 6.4 (10%).

The caption says CNN. The CIFAR10 half is the CNN of Table I; the FMNIST half comes out with the MLP of Table II, which
the authors' command for it names.

Accuracy swings by several points from round to round, with the classes of the round's clients: over our last hundred
rounds it deviates by 3.1 to 3.5 at 10% and 1.7 to 2.3 at 20% on FMNIST, and a column swings as one, because its methods
share their cohorts (changes from round to round correlate by 0.61 to 0.99). So the paper's last round is one draw for a
whole column, and only the same cohorts give it: the paper profile replays the authors' draws of shards, cohorts and
initial parameters (`replay=111`). Their 250th round is a good one at 10%: FedAvg's mean of the last ten is 2.0 below
its last there on FMNIST and 5.7 on CIFAR10. With cohorts of our own (`--set replay=none`) best rounds are within 0.72
of the paper on FMNIST (three seeds), but last ones deviate by 1.6 to 4.0 from seed to seed.

The authors' epsilon (`--set epsilon=1e-4`) makes little difference: FedCos(0.05) 85.88 and 83.95 on FMNIST at 10%.
"""

from dataclasses import replace

from experiments.table import Profile, Setting, Table
from fedcos_jax.runs.config import Config

SCENE = Config(partition="shards2", clients=100)
CIFAR10 = {"dataset": "cifar10", "model": "cnn"}
FMNIST = {"dataset": "fashion_mnist", "model": "mlp"}

TABLE = Table(
    name="table4",
    title="Table IV: cross-device, CIFAR10 (CNN) and FMNIST (MLP), 100 clients",
    methods=("FedAvg", "FedProx(0.1)", "FedCos(0.02)", "FedCos(0.05)"),
    settings={
        "cifar10-0.1": Setting("CIFAR10, 10%", CIFAR10 | {"fraction": 0.1}),
        "cifar10-0.2": Setting("CIFAR10, 20%", CIFAR10 | {"fraction": 0.2}),
        "fmnist-0.1": Setting("FMNIST, 10%", FMNIST | {"fraction": 0.1}),
        "fmnist-0.2": Setting("FMNIST, 20%", FMNIST | {"fraction": 0.2}),
    },
    values=("best_accuracy", "last_accuracy"),
    beside=("last10_accuracy",),
    paper={
        "FedAvg": (49.91, 48.69, 51.44, 50.61, 82.69, 79.68, 83.29, 79.96),
        "FedProx(0.1)": (49.38, 49.63, 50.66, 50.38, 82.44, 79.73, 83.26, 79.68),
        "FedCos(0.02)": (54.90, 52.54, 57.97, 56.15, 84.49, 82.21, 86.07, 84.35),
        "FedCos(0.05)": (59.36, 57.50, 61.80, 59.07, 85.69, 85.22, 86.74, 85.87),
    },
    profiles={
        "quick": Profile(
            replace(SCENE, rounds=40, local_steps=20, batch_size=16, lr=0.05),
            "40 rounds of 20 steps, batch 16, learning rate 0.05.",
            {"cifar10": "digits(16)", "fashion_mnist": "digits"},
        ),
        "short": Profile(
            replace(SCENE, rounds=60, local_steps=100, batch_size=64, lr=0.01),
            "The paper's data, 60 rounds instead of 250; the rest as in the paper.",
        ),
        "paper": Profile(
            replace(SCENE, rounds=250, local_steps=100, batch_size=64, lr=0.01, replay=111),
            "The paper's data and schedule: 250 rounds of 100 steps, batch 64, learning rate 0.01; shards and cohorts "
            "are the draws of its authors' code.",
        ),
    },
)

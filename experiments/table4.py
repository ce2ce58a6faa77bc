"""Table IV: cross-device, 100 clients with two shards each, 10% or 20% of them a round; best and last of 250 rounds.

Command: `python -m experiments.reproduce table4 [--profile short|paper --data-dir DIR]`. The quick profile takes 52
seconds on 2 idle CPU cores, compilation included.

Paper, best of 250 rounds: FedAvg 49.91, 51.44, 82.69, 83.29 (CIFAR10 10%, 20%, FMNIST 10%, 20%), FedCos(0.05) 59.36,
61.80, 85.69, 86.74. Ours at the paper's schedule, CIFAR10 with seed 0, FMNIST with three seeds (80 and 157 seconds a
cell on one core of a Zen 5): FedAvg 50.12, not run, 82.57 ± 0.12, 83.19 ± 0.36, FedCos(0.05) 58.17, not run, 85.29 ±
0.30, 86.50 ± 0.23; on FMNIST none of the eight means is more than 0.72 from the paper. The quick profile's stand-ins
(seed 0): FedCos(0.05) +10.6, +8.3, +1.7, +2.8 on FedAvg. Its learning rate is the smaller of the two tried with the
CNN; at 0.1 the best round gained 6.4 (10%).

The caption says CNN. The CIFAR10 half is the CNN of Table I; the FMNIST half comes out with the MLP of Table II, which
the authors' command for it names.

Accuracy swings by several points from round to round, so the mean of the last ten rounds is shown beside the last. At
10% its standard deviation over our last hundred rounds is 3.2 to 3.9 (seed 0), and a column swings as one, because its
methods share their cohorts: changes from round to round correlate by 0.63 to 0.99 on FMNIST and by 0.83 on CIFAR10. So
the paper's last round is one draw for a whole column. At 10% it is above our means of ten in every row run, by 2.2 to
4.6; at 20% it is 0.2 above for FedAvg, 0.1 below for FedProx, 1.9 above for FedCos. Our own last rounds of three seeds
deviate by 2.5 to 4.0 (10%) and 1.6 to 1.9 (20%), and the paper's is 0.7 to 1.1 such deviations above their mean at 10%,
at 20% 0.8 and 1.0 below for FedAvg and FedProx, 0.8 and 1.1 above for FedCos. That is not far for one draw.
"""

from dataclasses import replace

from experiments.table import Profile, Setting, Table
from fedcos_jax.experiment import Config

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

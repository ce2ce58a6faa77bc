"""Twenty clients with two shards each: Fig. "Performance comparison under non-IID settings where N = 20".

Command: `python -m experiments.reproduce many_clients [--profile short|paper --data-dir DIR]`
Time: quick 37 seconds on 2 CPU cores; paper, on one core, 19 minutes per cell of CIFAR10 and 6 of FMNIST.
Paper, FedAvg / FedCos(0.01) / FedCos(0.02): CIFAR10 50.63 / 55.12 / 57.14, FMNIST 81.52 / 84.55 / 85.36.
Ours: CIFAR10 49.68 / not run / 56.97, FMNIST 81.13 / 84.26 / 84.92.
"""

from dataclasses import replace

from experiments.declare import Profile, Setting, Table
from experiments.figures.curves import accuracy_figure
from fedcos_jax.runs.config import Config


def _table(
    name: str,
    heading: str,
    scene: Config,
    stand_in: str,
    rounds: int,
    paper: dict[str, float],
    replay: int | None = None,
) -> Table:
    authors = " Shards and initial parameters are the draws of its authors' code." if replay else ""
    # `rounds` of 200 steps are 500 epochs, of 40 steps on CIFAR10 and 47 on FMNIST.
    return Table(
        name=f"many_clients_{name}",
        title=f"20 clients, two shards each: {heading}",
        methods=("FedAvg", "FedProx(0.1)", "FedCos(0.01)", "FedCos(0.02)"),
        settings={"shards2": Setting(heading, {"partition": "shards2"})},
        paper={method: (number,) for method, number in paper.items()},
        profiles={
            "quick": Profile(
                replace(scene, rounds=20, local_steps=20, batch_size=16, lr=0.05),
                "20 rounds of 20 steps, batch 16, learning rate 0.05.",
                {scene.dataset: stand_in},
            ),
            "short": Profile(
                replace(scene, rounds=20, local_steps=200, batch_size=64, lr=0.01),
                f"The paper's data and 20 rounds instead of {rounds}. The rest is as in the paper.",
            ),
            "paper": Profile(
                replace(scene, rounds=rounds, local_steps=200, batch_size=64, lr=0.01, replay=replay),
                f"The paper's data and schedule: {rounds} rounds of 200 steps, batch 64, learning rate 0.01.{authors}",
            ),
        },
    )


CIFAR10 = _table(
    "cifar10",
    "CIFAR10, CNN",
    Config(dataset="cifar10", model="cnn", clients=20, epsilon=0.0),
    "digits(16)",
    100,
    {"FedAvg": 50.63, "FedCos(0.01)": 55.12, "FedCos(0.02)": 57.14},
    replay=111,
)
FMNIST = _table(
    "fmnist",
    "FMNIST, MLP",
    Config(dataset="fashion_mnist", model="mlp", clients=20, epsilon=0.0),
    "digits",
    118,
    {"FedAvg": 81.52, "FedCos(0.01)": 84.55, "FedCos(0.02)": 85.36},
)

FIGURE = accuracy_figure(
    "many_clients",
    "Twenty clients, two shards each",
    "FedCos leads FedAvg and FedProx all the way, on both datasets.",
    CIFAR10,
    FMNIST,
)

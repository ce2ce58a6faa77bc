"""Table V: Shakespeare, LSTM, 143 clients, 10% or 20% of them per round. Test accuracy after 100 rounds.

Command: `python -m experiments.reproduce table5 [--profile short|paper --data-dir DIR]`
Time: quick 71 seconds on 2 CPU cores; paper 12 to 39 minutes per cell at 10%.
Paper, 10% / 20%: FedAvg 37.46 / 38.08, FedCos(0.01) 41.80 / 42.96.
Ours, 10%: FedAvg 40.73, FedCos(0.01) 41.60, and 44.01 with the authors' epsilon (`--set epsilon=1e-4`). The level is
still unexplained: see docs/findings.md.
"""

from dataclasses import replace

from experiments.declare import Profile, Setting, Table
from fedcos_jax.runs.config import Config

SCENE = Config(
    dataset="shakespeare", model="lstm", partition="natural", clients=143, batch_size=10, lr=0.5, epsilon=0.0
)

TABLE = Table(
    name="table5",
    title="Table V: cross-device, Shakespeare, LSTM, 143 clients",
    methods=("FedAvg", "FedProx(0.01)", "FedCos(0.005)", "FedCos(0.01)"),
    settings={
        "shakespeare-0.1": Setting("Shakespeare, 10%", {"fraction": 0.1}),
        "shakespeare-0.2": Setting("Shakespeare, 20%", {"fraction": 0.2}),
    },
    values=("last_accuracy",),
    beside=("best_accuracy", "last10_accuracy"),
    paper={
        "FedAvg": (37.46, 38.08),
        "FedProx(0.01)": (35.60, 35.64),
        "FedCos(0.005)": (40.25, 40.91),
        "FedCos(0.01)": (41.80, 42.96),
    },
    profiles={
        "quick": Profile(
            replace(SCENE, rounds=30, local_steps=15),
            "30 rounds of 15 steps. Batch 10 and learning rate 0.5 are as in the paper.",
            {"shakespeare": "dialects(143,5)"},
        ),
        "short": Profile(
            replace(SCENE, rounds=30, local_steps=50, eval_every=5),
            "The paper's data and 30 rounds instead of 100. The model is evaluated every five rounds. The rest is as "
            "in the paper.",
        ),
        "paper": Profile(
            replace(SCENE, rounds=100, local_steps=50, eval_every=5),
            "The paper's data and schedule: 100 rounds of 50 steps, batch 10, learning rate 0.5. The model is "
            "evaluated every five rounds, so the mean of the last ten rounds is a mean of two evaluations.",
        ),
    },
)

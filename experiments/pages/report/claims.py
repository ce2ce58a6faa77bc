"""What the paper claims, and what we claim of our numbers, as data: a sentence and the rules that check it."""

from collections.abc import Sequence
from typing import NamedTuple

from experiments.declare import Table
from experiments.figures import deep, long, many_clients, server_rates
from experiments.pages.comparison import without_fedcos
from experiments.pages.report import rules
from experiments.pages.report.rules import Case, Rule
from experiments.pages.report.sources import Paper, Source
from experiments.tables import TABLES, table1, table2, table3, table4, table5

ACCURACY_TOLERANCE = 1.5
"""How many points one of our accuracies may differ from the paper's."""
WORDS = ("holds", "holds so far", "too close to call", "does not hold", "not run")
PRINTED = (*TABLES.values(), many_clients.CIFAR10, many_clients.FMNIST, long.TABLE)
"""The tables with numbers of the paper."""


class Claim(NamedTuple):
    """A sentence that the cases of its rules support or refute."""

    where: str
    text: str
    rules: tuple[Rule, ...]
    share: float = 1.0
    """The share of the cases run that must hold."""
    own: bool = False
    """Whether we make it, not the paper: how near our numbers are to the paper's. It can only be checked on runs with
    the paper's data and schedule."""


class Verdict(NamedTuple):
    """A claim and the cases that decide it."""

    claim: Claim
    cases: list[Case]
    paper: list[Case]
    """The same cases on the paper's own numbers. Empty if the paper prints none."""

    @property
    def run(self) -> list[Case]:
        return [case for case in self.cases if case.slack is not None]

    def count(self, word: str) -> int:
        """How many cases come out as this word."""
        return sum(case.word == word for case in self.cases)

    @property
    def telling(self) -> list[Case]:
        """The cases that fail, or if none does, those too close to call, or else the one that nearly failed."""
        worst_first = sorted(self.run, key=lambda case: case.slack or 0.0)
        for word in ("does not hold", "too close to call"):
            if self.count(word):
                return [case for case in worst_first if case.word == word]
        return worst_first[:1]

    @property
    def word(self) -> str:
        """One of WORDS."""
        needed = self.claim.share * len(self.run)
        if not self.run:
            return "not run"
        if len(self.run) - self.count("does not hold") < needed:
            return "does not hold"
        if self.count("holds") < needed:
            return "too close to call"
        return "holds" if len(self.run) == len(self.cases) else "holds so far"


def judge(claim: Claim, ours: Source, *, schedule_of_paper: bool) -> Verdict:
    """Checks a claim on the results that exist."""
    cases = [case for rule in claim.rules for case in rule(ours)]
    if claim.own:
        if not schedule_of_paper:
            cases = [case._replace(numbers="", slack=None) for case in cases]
        return Verdict(claim, cases, [])
    printed = [case for rule in claim.rules for case in rule(Paper()) if case.slack is not None]
    return Verdict(claim, cases, printed)


def _split(table: Table) -> tuple[list[str], list[str]]:
    """The rows of FedCos alone, weaker strengths first, and those of the baselines."""
    alone = [method for method in table.methods if without_fedcos(method) == "FedAvg"]
    return alone, [method for method in table.methods if without_fedcos(method) is None]


def _leads(table: Table, where: str, scene: str) -> list[Claim]:
    alone, baselines = _split(table)
    weaker, stronger = alone
    return [
        Claim(where, f"{scene}, FedCos is above every baseline.", (rules.order(table, alone, baselines),)),
        Claim(where, f"{scene}, {stronger} is above {weaker}.", (rules.order(table, [stronger], [weaker]),)),
    ]


def _enhances(table: Table, where: str, dataset: str) -> list[Claim]:
    alone, _ = _split(table)
    return [
        Claim(
            where, f"On {dataset}, FedCos(0.02) on top improves each of the four baselines.", (rules.enhanced(table),)
        ),
        Claim(
            where,
            f"On {dataset}, FedCos gains more over FedAvg on totally non-IID clients than on IID ones.",
            tuple(rules.gain_grows(table, method, "sorted", "iid") for method in alone),
        ),
    ]


LINES = {"cosine_pair": "cosine between two local moves", "cosine_mean": "mean cosine over all pairs"}
NEARER = {"local_move": "move of one local model", "distance_pair": "distance of two local models"}

CLAIMS: Sequence[Claim] = (
    *_leads(table1.TABLE, "Table I", "On CIFAR10 with five clients"),
    Claim(
        "Table I",
        "On CIFAR10, FedCos gains at least 3 points over FedAvg and the other baselines in all cases.",
        (rules.order(table1.TABLE, *_split(table1.TABLE), margin=3),),
    ),
    *_enhances(table1.TABLE, "Table I", "CIFAR10"),
    *_leads(table2.TABLE, "Table II", "On FMNIST with seven clients"),
    *_enhances(table2.TABLE, "Table II", "FMNIST"),
    *_leads(table3.TABLE, "Table III", "On CIFAR100 with ResNet18"),
    *_leads(table4.TABLE, "Table IV", "Across devices, 100 clients, in the best and in the last round"),
    Claim(
        "Table IV",
        f"With its authors' cohorts our best and last rounds are within {ACCURACY_TOLERANCE} points of the paper's.",
        (rules.as_in_the_paper([table4.TABLE], within=ACCURACY_TOLERANCE, same_cohorts=True),),
        own=True,
    ),
    *_leads(table5.TABLE, "Table V", "Across devices on Shakespeare"),
    *_leads(many_clients.CIFAR10, "Fig. N = 20", "On CIFAR10 with 20 clients"),
    *_leads(many_clients.FMNIST, "Fig. N = 20", "On FMNIST with 20 clients"),
    Claim(
        "Fig. efficiency",
        "On CIFAR10, each baseline needs at most half the rounds for its accuracy with FedCos.",
        (rules.fewer_rounds(table1.TABLE, factor=2),),
    ),
    Claim(
        "Fig. efficiency",
        "On FMNIST, each baseline needs at most half the rounds for its accuracy with FedCos (paper: half to a fifth).",
        (rules.fewer_rounds(table2.TABLE, factor=2),),
    ),
    Claim(
        "Fig. FedOpt",
        "After 200 rounds FedCos is ahead of FedAvg and of FedOpt with any server learning rate.",
        (rules.order(server_rates.TABLE, ["FedCos(0.02)"], _split(server_rates.TABLE)[1]),),
    ),
    Claim(
        "Fig. FedOpt",
        "After 200 rounds FedOpt performs as FedAvg does, whatever its server learning rate up to 1.7.",
        (rules.close(server_rates.TABLE, ["FedOpt(1.2)", "FedOpt(1.5)", "FedOpt(1.7)"], "FedAvg", within=1.5),),
    ),
    *_leads(deep.TABLE, "Fig. ResNet18", "With ResNet18 on CIFAR10"),
    *_leads(long.TABLE, "Fig. 3,200 epochs", "After 3,200 epochs, in the last and in the best round"),
    Claim(
        "Fig. consistency",
        "With FedCos clients move in more similar directions.",
        (rules.measured(table2.TABLE, "sorted", "FedCos(0.02)", "FedAvg", LINES),),
    ),
    Claim(
        "Fig. mechanism",
        "With FedCos the global model moves farther.",
        (
            rules.measured(
                table2.TABLE, "sorted", "FedCos(0.02)", "FedAvg", {"global_move": "move of the global model"}
            ),
        ),
    ),
    Claim(
        "Fig. mechanism",
        "With FedCos local models move less and stay nearer each other.",
        (rules.measured(table2.TABLE, "sorted", "FedAvg", "FedCos(0.02)", NEARER),),
    ),
    Claim(
        "Fig. trajectories",
        "On quadratics FedCos visits points nearer the global optimum than FedAvg does.",
        (rules.nearer_the_optimum,),
    ),
    Claim(
        "All tables",
        f"Our accuracies are within {ACCURACY_TOLERANCE} points of the paper's in nine cells of ten.",
        (rules.as_in_the_paper(PRINTED, within=ACCURACY_TOLERANCE),),
        share=0.9,
        own=True,
    ),
)

"""Claims and rules: verdicts from numbers."""

import pytest

from experiments.pages.report import rules, sources
from experiments.pages.report.claims import CLAIMS, Claim, judge
from experiments.pages.report.page import judged
from experiments.tables import table1, table2, table4, table5
from tests.experiments import fabricated


def test_nothing_run_nothing_claimed(tmp_path):
    verdicts = judged("paper", tmp_path)
    assert {verdict.word for verdict in verdicts if "quadratics" not in verdict.claim.text} == {"not run"}


def test_nine_cells_of_ten_suffice_and_only_at_the_papers_schedule(tmp_path):
    claim = CLAIMS[-1]
    fabricated.as_printed(tmp_path, table2.TABLE, "paper")
    off = [("FedAvg", "iid"), ("FedCos(0.01)", "iid"), ("FedCos(0.02)", "iid"), ("FedAvg", "sorted")]
    for method, setting in off[:3]:
        accuracy = table2.TABLE.paper_number(setting, method, "last_accuracy") - 1.51
        fabricated.write(tmp_path, table2.TABLE, "paper", setting, method, accuracy)
    assert judge(claim, sources.Ours("paper", tmp_path), schedule_of_paper=True).word == "holds so far"
    fabricated.write(tmp_path, table2.TABLE, "paper", "sorted", "FedAvg", 74.91 + 1.51)
    verdict = judge(claim, sources.Ours("paper", tmp_path), schedule_of_paper=True)
    assert (verdict.word, verdict.count("holds"), len(verdict.run)) == ("does not hold", 32, 36)
    assert judge(claim, sources.Ours("paper", tmp_path), schedule_of_paper=False).word == "not run"


def test_across_devices_the_mean_of_ten_rounds_meets_the_paper_s_last_unless_cohorts_are_the_same():
    class Swinging(sources.Paper):
        """The paper's best rounds; last rounds of 0 after nine near the paper's."""

        def accuracies(self, table, setting, method, value):
            if value == "last10_accuracy":
                return {0: table.paper_number(setting, method, "last_accuracy") + 1.4}
            return {0: table.paper_number(setting, method, value) if value == "best_accuracy" else 0.0}

    for table, held in ((table4.TABLE, 32), (table5.TABLE, 8), (table1.TABLE, 0)):
        claim = Claim("", "", (rules.as_in_the_paper([table], within=1.5),), own=True)
        assert judge(claim, Swinging(), schedule_of_paper=True).count("holds") == held
    same = rules.as_in_the_paper([table4.TABLE], within=1.5, same_cohorts=True)
    assert judge(Claim("", "", (same,), own=True), Swinging(), schedule_of_paper=True).count("holds") == 16


def test_beside_a_last_round_across_devices_stands_how_far_ours_deviate(tmp_path):
    """The last ten of rounds that are 20 and 30 in turn deviate by 5 from 25, or √(250/9) = 5.27 as a sample."""
    history = {"round": list(range(1, 21)), "accuracy": [20.0, 30.0] * 10}
    fabricated.write(tmp_path, table4.TABLE, "paper", "fmnist-0.1", "FedAvg", 79.68, history=history)
    fabricated.write(
        tmp_path,
        table5.TABLE,
        "paper",
        "shakespeare-0.1",
        "FedAvg",
        37.46,
        history={"round": [5, 10, 15, 20], "accuracy": [10.0, 20.0, 30.0, 40.0]},
    )
    rule = rules.as_in_the_paper([table4.TABLE, table5.TABLE], within=1.5)
    numbers = [case.numbers for case in rule(sources.Ours("paper", tmp_path)) if case.slack is not None]
    best, last, every_fifth_round = numbers
    assert best == "79.68 against 82.69"
    assert last == "79.68 against 79.68, our rounds ± 5.3"
    assert every_fifth_round == "37.46 against 37.46"


def test_equality_is_too_close_to_call_and_within_any_tolerance(tmp_path):
    for method in ("FedAvg", "FedCos(0.02)"):
        fabricated.write(tmp_path, table2.TABLE, "paper", "iid", method, 88.04)
    ours = sources.Ours("paper", tmp_path)
    above = Claim("", "", (rules.order(table2.TABLE, ["FedCos(0.02)"], ["FedAvg"]),))
    near = Claim("", "", (rules.close(table2.TABLE, ["FedCos(0.02)"], "FedAvg", within=0),))
    assert judge(above, ours, schedule_of_paper=True).word == "too close to call"
    assert judge(near, ours, schedule_of_paper=True).word == "holds so far"


def test_methods_are_compared_on_the_seeds_that_both_have():
    class Seeds(sources.Paper):
        """FedAvg had a lucky seed of its own."""

        def accuracies(self, table, setting, method, value):
            return {0: 80.0, 1: 99.0} if method == "FedAvg" else {0: 81.0, 2: 83.0}

    above = Claim("", "", (rules.order(table2.TABLE, ["FedCos(0.02)"], ["FedAvg"], settings=["iid"]),))
    (case,) = judge(above, Seeds(), schedule_of_paper=True).cases
    assert (case.word, case.numbers) == ("holds", "81.00 against 80.00")


def test_twice_as_fast_is_twice_as_fast(tmp_path):
    """A run that climbs evenly to twice the accuracy is at the baseline's in half the rounds."""
    fabricated.write(tmp_path, table2.TABLE, "paper", "sorted", "FedAvg", 40.0)
    fabricated.write(tmp_path, table2.TABLE, "paper", "sorted", "FedCos(0.02)", 80.0)
    verdict = judge(
        Claim("", "", (rules.fewer_rounds(table2.TABLE, factor=2),)),
        sources.Ours("paper", tmp_path),
        schedule_of_paper=True,
    )
    assert [case.numbers for case in verdict.run] == ["2.00× against 2.00×"]
    assert verdict.word == "holds so far"


def verdict_of(better, worse):
    """Of the claim that one method is above another in one setting, from accuracies by seed."""

    class Given(sources.Paper):
        def accuracies(self, table, setting, method, value):
            return dict(enumerate(better if method == "FedCos(0.02)" else worse))

    above = Claim("", "", (rules.order(table2.TABLE, ["FedCos(0.02)"], ["FedAvg"], settings=["iid"]),))
    return judge(above, Given(), schedule_of_paper=True).word


@pytest.mark.parametrize(
    ("better", "worse", "word"),
    [
        ([80.31], [80.0], "holds"),
        ([80.3], [80.0], "holds"),
        ([80.29], [80.0], "too close to call"),
        ([79.71], [80.0], "too close to call"),
        ([79.69], [80.0], "does not hold"),
        # Differences 1, 2 and 3: a mean of 2, which is more than their standard deviation 1.
        ([81.0, 72.0, 63.0], [80.0, 70.0, 60.0], "holds"),
        # Differences 1, -1 and 0.6: a mean of 0.2 is less than their standard deviation 1.06.
        ([81.0, 69.0, 60.6], [80.0, 70.0, 60.0], "too close to call"),
        # Differences 0.1, 0.11 and 0.12: small, but the same with every seed.
        ([80.1, 70.11, 60.12], [80.0, 70.0, 60.0], "holds"),
        ([80.0, 70.0, 60.0], [80.1, 70.11, 60.12], "does not hold"),
    ],
)
def test_a_difference_within_the_spread_of_seeds_is_too_close_to_call(better, worse, word):
    assert verdict_of(better, worse) == word


def test_one_comparison_that_fails_decides_a_claim_and_one_too_close_leaves_it_open():
    class Given(sources.Paper):
        def accuracies(self, table, setting, method, value):
            gains = {"sorted": 5.0, "mixed90": 1.0, "mixed70": 0.1, "iid": self.last}
            return {0: 80.0 + gains[setting] * (method == "FedCos(0.02)")}

    above = Claim("", "", (rules.order(table2.TABLE, ["FedCos(0.02)"], ["FedAvg"]),))
    for last, word, told in ((2.0, "too close to call", 1), (-0.1, "too close to call", 2), (-1.0, "does not hold", 1)):
        source = Given()
        source.last = last
        verdict = judge(above, source, schedule_of_paper=True)
        assert (verdict.word, len(verdict.telling)) == (word, told)
        assert {case.word for case in verdict.telling} == {word}


def test_tolerances_have_no_spread(tmp_path):
    """1.4 points from the paper are within 1.5, though they are not 0.3 points away from it."""
    fabricated.write(tmp_path, table2.TABLE, "paper", "iid", "FedAvg", 88.04 + 1.4)
    ours = sources.Ours("paper", tmp_path)
    rule = rules.as_in_the_paper([table2.TABLE], within=1.5)
    assert [case.word for case in rule(ours) if case.slack is not None] == ["holds"]


def test_our_own_claims_are_those_about_the_distance_to_the_paper():
    assert [claim.text.startswith(("Our accuracies", "With its authors' cohorts our")) for claim in CLAIMS] == [
        claim.own for claim in CLAIMS
    ]
    assert sum(claim.own for claim in CLAIMS) == 2

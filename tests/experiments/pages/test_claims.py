"""Claims and rules: verdicts from numbers."""

from experiments.pages.report import rules
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
    assert judge(claim, rules.Ours("paper", tmp_path), schedule_of_paper=True).word == "holds so far"
    fabricated.write(tmp_path, table2.TABLE, "paper", "sorted", "FedAvg", 74.91 + 1.51)
    verdict = judge(claim, rules.Ours("paper", tmp_path), schedule_of_paper=True)
    assert (verdict.word, verdict.held, len(verdict.run)) == ("does not hold", 32, 36)
    assert judge(claim, rules.Ours("paper", tmp_path), schedule_of_paper=False).word == "not run"


def test_across_devices_the_mean_of_ten_rounds_meets_the_paper_s_last_unless_cohorts_are_the_same():
    class Swinging(rules.Paper):
        """The paper's best rounds; last rounds of 0 after nine near the paper's."""

        def accuracies(self, table, setting, method, value):
            if value == "last10_accuracy":
                return {0: table.paper_number(setting, method, "last_accuracy") + 1.4}
            return {0: table.paper_number(setting, method, value) if value == "best_accuracy" else 0.0}

    for table, held in ((table4.TABLE, 32), (table5.TABLE, 8), (table1.TABLE, 0)):
        claim = Claim("", "", (rules.as_in_the_paper([table], within=1.5),), schedule_of_paper=True)
        assert judge(claim, Swinging(), schedule_of_paper=True).held == held
    same = rules.as_in_the_paper([table4.TABLE], within=1.5, same_cohorts=True)
    assert judge(Claim("", "", (same,), schedule_of_paper=True), Swinging(), schedule_of_paper=True).held == 16


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
    numbers = [case.numbers for case in rule(rules.Ours("paper", tmp_path)) if case.holds is not None]
    best, last, every_fifth_round = numbers
    assert best == "79.68 against 82.69"
    assert last == "79.68 against 79.68, our rounds ± 5.3"
    assert every_fifth_round == "37.46 against 37.46"


def test_equality_is_not_above_but_within(tmp_path):
    for method in ("FedAvg", "FedCos(0.02)"):
        fabricated.write(tmp_path, table2.TABLE, "paper", "iid", method, 88.04)
    ours = rules.Ours("paper", tmp_path)
    above = Claim("", "", (rules.order(table2.TABLE, ["FedCos(0.02)"], ["FedAvg"]),))
    near = Claim("", "", (rules.close(table2.TABLE, ["FedCos(0.02)"], "FedAvg", within=0),))
    assert judge(above, ours, schedule_of_paper=True).word == "does not hold"
    assert judge(near, ours, schedule_of_paper=True).word == "holds so far"


def test_methods_are_compared_on_the_seeds_that_both_have():
    class Seeds(rules.Paper):
        """FedAvg had a lucky seed of its own."""

        def accuracies(self, table, setting, method, value):
            return {0: 80.0, 1: 99.0} if method == "FedAvg" else {0: 81.0, 2: 83.0}

    above = Claim("", "", (rules.order(table2.TABLE, ["FedCos(0.02)"], ["FedAvg"], settings=["iid"]),))
    (case,) = judge(above, Seeds(), schedule_of_paper=True).cases
    assert (case.holds, case.numbers) == (True, "81.00 against 80.00")


def test_twice_as_fast_is_twice_as_fast(tmp_path):
    """A run that climbs evenly to twice the accuracy is at the baseline's in half the rounds."""
    fabricated.write(tmp_path, table2.TABLE, "paper", "sorted", "FedAvg", 40.0)
    fabricated.write(tmp_path, table2.TABLE, "paper", "sorted", "FedCos(0.02)", 80.0)
    verdict = judge(
        Claim("", "", (rules.fewer_rounds(table2.TABLE, factor=2),)),
        rules.Ours("paper", tmp_path),
        schedule_of_paper=True,
    )
    assert [case.numbers for case in verdict.run] == ["2.00× against 2.00×"]
    assert verdict.word == "holds so far"

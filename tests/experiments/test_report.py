"""The report: verdicts from numbers, a page that needs nothing else, in a real browser."""

import json
import re
import shutil
import subprocess

import fabricated
import pytest

from experiments import reproduce, table1, table2, table4, table5
from experiments.report import rules
from experiments.report.claims import CLAIMS, Claim, judge
from experiments.report.page import judged
from fedcos_jax.runs import files

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)


def words(profile, folder):
    return {verdict.claim.text: verdict.word for verdict in judged(profile, folder)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tables I, II and IV as the paper prints them, but for one cell of each of the last two; of Table V one cell."""
    folder = tmp_path_factory.mktemp("results")
    for table in (table1.TABLE, table2.TABLE, table4.TABLE):
        fabricated.as_printed(folder, table, "paper")
    fabricated.write(folder, table2.TABLE, "paper", "iid", "FedCos(0.01)", 88.2)
    fabricated.write(folder, table5.TABLE, "paper", "shakespeare-0.1", "FedAvg", 37.46)
    unkind = {"jax": "<script>alert(1)</script>"}
    fabricated.write(folder, table4.TABLE, "paper", "fmnist-0.1", "FedCos(0.05)", 60.0, versions=unkind)
    return folder


@pytest.fixture(scope="module")
def page(folder):
    assert reproduce.main(["report", "--profile", "paper", "--results-dir", str(folder)]) == 0
    return (folder / "paper" / "report.html").read_text()


def test_the_report_comes_with_the_pages_and_figures_of_its_runs(folder, page):
    written = {path.name for path in (folder / "paper").rglob("*") if path.suffix in (".md", ".tex", ".png")}
    pages = {f"table{i}.{kind}" for i in (1, 2, 4, 5) for kind in ("md", "tex")}
    assert written == pages | {"efficiency.png", "consistency.png", "mechanism.png"}


def test_nothing_run_nothing_claimed(tmp_path):
    assert {word for text, word in words("paper", tmp_path).items() if "quadratics" not in text} == {"not run"}


def test_verdicts_follow_the_numbers(folder):
    verdicts = words("paper", folder)
    assert verdicts["On CIFAR10 with five clients, FedCos is above every baseline."] == "holds"
    assert verdicts["On CIFAR10, FedCos(0.02) on top improves each of the four baselines."] == "holds"
    # 88.2 is above FedAvg's 88.04 and below FedOpt's 88.43.
    assert verdicts["On FMNIST with seven clients, FedCos is above every baseline."] == "does not hold"
    assert verdicts["On FMNIST with seven clients, FedCos(0.02) is above FedCos(0.01)."] == "holds"
    across = "Across devices, 100 clients, in the best and in the last round, "
    assert verdicts[across + "FedCos is above every baseline."] == "does not hold"
    assert verdicts["Across devices on Shakespeare, FedCos is above every baseline."] == "not run"


def test_the_paper_is_held_to_its_own_words(folder):
    (verdict,) = [v for v in judged("paper", folder) if "at least 3 points" in v.claim.text]
    assert verdict.word == "does not hold"
    assert [case.holds for case in verdict.cases] == [case.holds for case in verdict.paper]
    assert verdict.telling[0].numbers == "71.75 against 70.57"


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


def test_the_page_shows_numbers_dashes_and_what_is_missing(page):
    table = page[page.index('<h3 id="table2">') :]
    row = re.search(r'<th scope="row">FedCos\(0.01\)</th>(.*?)</tr>', table, re.DOTALL)
    assert re.sub(r"\s+|<[^>]*>", " ", row[1]).split() == ["79.21", "+4.30", "79.21", "+4.30", "+0.00"]
    assert "<b>80.76</b>" in page
    assert 'class="far">-25.69' in page
    assert "<td>–" in page
    assert "Table V" in page[page.index("What has not been run") :]
    assert "Not run: 12 of 12 cells" in page
    assert "<code>jax=1.2.3</code>" in page
    assert "<code>local_steps=400</code>" in page


def test_what_results_say_stays_text(page):
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_the_page_loads_nothing_from_elsewhere(page):
    assert not re.search(r"<(?:script|img|iframe|object)\b|@import|url\((?!#)", page)
    assert re.findall(r'<link[^>]*href="([^"]*)"', page) == ["data:,"]
    assert not [href for href in re.findall(r'href="([^"]*)"', page) if not href.startswith(("#", "data:"))]


def test_a_damaged_result_is_named(tmp_path, capsys):
    path = fabricated.write(tmp_path, table2.TABLE, "paper", "iid", "FedAvg", 88.0)
    path.write_text("{")
    assert reproduce.main(["report", "--profile", "paper", "--results-dir", str(tmp_path)]) == 2
    assert path.name in capsys.readouterr().err
    assert not (tmp_path / "paper" / "report.html").exists()


PROBE = """<!doctype html><title>probe</title>
<iframe src="report.html" width="390" height="844" style="color-scheme: light"></iframe>
<iframe src="report.html" width="1200" height="844" style="color-scheme: dark"></iframe>
<pre id="seen"></pre>
<script>
addEventListener("load", () => {
  const seen = [...document.querySelectorAll("iframe")].map(({contentDocument: page, contentWindow: frame}) => ({
    overflow: page.documentElement.scrollWidth - page.documentElement.clientWidth,
    pictures: [...page.querySelectorAll("figure svg")].map(svg => svg.getBoundingClientRect().width),
    broken: [...page.images].filter(image => !image.naturalWidth).length,
    ink: frame.getComputedStyle(page.body).color,
    drawn: frame.getComputedStyle(page.querySelector("figure svg text")).fill,
  }));
  document.getElementById("seen").textContent = JSON.stringify(seen);
});
</script>"""


@pytest.mark.skipif(BROWSER is None, reason="needs chromium or chrome")
def test_in_a_browser(folder, page):
    probe = folder / "paper" / "probe.html"
    files.write_text(probe, PROBE)
    flags = "--headless --no-sandbox --disable-gpu --allow-file-access-from-files --enable-logging=stderr --dump-dom"
    command = [BROWSER, *flags.split(), f"--user-data-dir={folder / 'browser'}", probe.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert "CONSOLE" not in done.stderr
    phone, desktop = json.loads(re.search(r'<pre id="seen">(.*?)</pre>', done.stdout)[1])
    for seen in (phone, desktop):
        assert seen["overflow"] == 0
        assert seen["broken"] == 0
        assert len(seen["pictures"]) >= 6 + 2 + 8 + 3
        assert min(seen["pictures"]) > 250
        assert seen["drawn"] == seen["ink"]
    assert phone["ink"] == "rgb(31, 35, 40)"
    assert desktop["ink"] == "rgb(230, 237, 243)"

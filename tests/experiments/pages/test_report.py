"""The report: one page that needs nothing else, in a real browser."""

import json
import re
import shutil
import subprocess

import pytest
from markupsafe import escape

from experiments import reproduce
from experiments.declare import RESULTS
from experiments.pages.report import overview
from experiments.pages.report.page import judged, render
from experiments.tables import table1, table2, table4, table5
from fedcos_jax.runs import files
from tests.experiments import fabricated

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)


def words(profile, folder):
    return {verdict.claim.text: verdict.word for verdict in judged(profile, folder)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tables I, II and IV as the paper prints them, but for one cell of each of the last two; of Table V one cell."""
    folder = tmp_path_factory.mktemp("results")
    for table in (table1.TABLE, table2.TABLE, table4.TABLE):
        fabricated.as_printed(folder, table, "paper")
    fabricated.write(folder, table2.TABLE, "paper", "iid", "FedCos(0.01)", 88.1)
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
    assert written == pages | {
        *("efficiency.png", "consistency.png", "mechanism.png", "toy.png", "toy3.png"),
        *("table1_rounds.png", "table2_rounds.png"),
    }


def test_verdicts_follow_the_numbers(folder):
    verdicts = words("paper", folder)
    assert verdicts["On CIFAR10 with five clients, FedCos is above every baseline."] == "holds"
    assert verdicts["On CIFAR10, FedCos(0.02) on top improves each of the four baselines."] == "holds"
    # 88.1 is above FedAvg's 88.04 and 0.33 below FedOpt's 88.43.
    assert verdicts["On FMNIST with seven clients, FedCos is above every baseline."] == "does not hold"
    # At 90% non-IID the paper has 87.61 and 87.37.
    assert verdicts["On FMNIST with seven clients, FedCos(0.02) is above FedCos(0.01)."] == "too close to call"
    across = "Across devices, 100 clients, in the best and in the last round, "
    assert verdicts[across + "FedCos is above every baseline."] == "does not hold"
    assert verdicts["Across devices on Shakespeare, FedCos is above every baseline."] == "not run"


def test_the_paper_is_held_to_its_own_words(folder):
    (verdict,) = [v for v in judged("paper", folder) if "at least 3 points" in v.claim.text]
    assert verdict.word == "does not hold"
    assert [case.word for case in verdict.cases] == [case.word for case in verdict.paper]
    assert verdict.telling[0].numbers == "71.75 against 70.57"


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


def test_the_page_begins_with_a_sentence_and_an_overview(page, folder):
    """The sentence counts the comparisons of the last claim, and the words of the paper's claims."""
    numbers = judged("paper", folder)[-1]
    assert len(numbers.run) == 36 + 36 + 2 * 16 + 1
    lead = re.search(r'<p class="lead">(.*?)</p>', page)[1]
    assert lead.startswith(
        f"{numbers.count('holds')} of 105 accuracies are within 1.5 points of the paper&#39;s, and of "
    )
    verdicts = [verdict for verdict in judged("paper", folder) if not verdict.claim.own]
    for word, said in (("too close to call", "are too close to call"), ("does not hold", "do not hold")):
        assert f"{sum(verdict.word == word for verdict in verdicts)} {said}" in lead
    places = [page.index(f'id="{name}"') for name in ("overview", "rounds", "table1_rounds", "claims", "own", "tables")]
    assert [page.index('class="lead"'), *places] == sorted([page.index('class="lead"'), *places])
    rows = re.findall(r'<tr><th scope="row">(Table [IV]+)[:<].*?</tr>', page[: page.index('id="rounds"')], re.DOTALL)
    assert rows == ["Table I", "Table II", "Table IV", "Table V"]


def test_our_own_claims_stand_apart(page):
    paper, own = page[page.index('id="claims"') : page.index('id="own"')], page[page.index('id="own"') :]
    text = "Our accuracies are within 1.5 points"
    assert text not in paper
    assert text in own[: own.index('id="tables"')]


def test_deviations_are_defined_before_the_first_one(tmp_path):
    for seed in range(2):
        path = fabricated.write(tmp_path, table2.TABLE, "paper", "iid", "FedAvg", 88.0 + seed, seed=seed)
        path.rename(path.with_name(f"iid_fedavg_seed{1 - seed}.json"))
    page = render([table2.TABLE], [], "paper", tmp_path)
    assert "88.50 ±&nbsp;0.71" in page
    assert page.index("±") == page.index("± is their sample standard deviation")


@pytest.mark.parametrize("profile", ["short", "paper"])
def test_the_stored_report_sums_up_the_stored_runs(profile):
    """If this fails, `make report PROFILE=...` writes it again."""
    said = overview.summary(profile, overview.overview(profile, RESULTS), judged(profile, RESULTS))
    assert f'<p class="lead">{escape(said)}</p>' in (RESULTS / profile / "report.html").read_text()


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
        assert len(seen["pictures"]) >= 4 + 4 + 6 + 2 + 8 + 3
        assert min(seen["pictures"]) > 250
        assert seen["drawn"] == seen["ink"]
    assert phone["ink"] == "rgb(31, 35, 40)"
    assert desktop["ink"] == "rgb(230, 237, 243)"

"""The report: one page that needs nothing else, in a real browser."""

import json
import re
import shutil
import subprocess

import pytest

from experiments import reproduce
from experiments.pages.report.page import judged
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

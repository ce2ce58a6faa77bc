"""The tables as Markdown and LaTeX: every number, the best ones marked, and committed pages that are up to date."""

import re

import pytest

from experiments.declare import PROFILES, RESULTS
from experiments.pages import latex, markdown
from experiments.tables import TABLES

every_table = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)


def test_markdown_shows_every_value_and_the_best(handmade):
    page = markdown.render(TABLES["table4"], "paper", handmade)
    shown = ["best round", "last round", "mean of the last ten rounds"]
    assert re.findall(r"## Test accuracy \(%\), (.*)", page) == shown
    assert "CIFAR10, 10%: paper | CIFAR10, 10%: ours | CIFAR10, 10%: difference" in page
    assert "| FedCos(0.02) | 54.90 (+4.99) | **55.00 ± 0.00** (+4.00) | +0.10 |" in page
    assert "| FedAvg | 48.69 | 48.50 ± 0.71 | -0.19 |" in page
    assert "Not the paper's experiment" not in page


def test_a_stand_in_has_no_difference_to_the_paper(handmade):
    for module in (markdown, latex):
        page = module.render(TABLES["table4"], "quick", handmade)
        assert "stands in for cifar10" in page
        assert "difference" not in page


@every_table
def test_latex_shows_the_same_numbers(table, handmade):
    numbers = lambda text: re.findall(r"[-+]?\d+\.\d+", text)  # noqa: E731
    for profile in PROFILES:
        rows = [line for line in markdown.render(table, profile, handmade).splitlines() if line.startswith("| Fed")]
        page = latex.render(table, profile, handmade)
        tex_rows = [line for line in page.splitlines() if line.startswith("Fed")]
        assert [numbers(row) for row in tex_rows] == [numbers(row) for row in rows]
        widths = [len(spec) for spec in re.findall(r"\\begin{tabular}{(\w+)}", page)]
        assert {row.count("&") + 1 for row in tex_rows} <= set(widths)
        assert len(widths) == page.count(r"\bottomrule") == len(table.values + table.beside)
        assert not re.search(r"(?<!\\)[_#±]|(?<!\\)%(?!\n)", re.sub(r"\\label{.*}", "", page))


@pytest.mark.parametrize("profile", ["short", "paper"])
@every_table
def test_stored_pages_show_the_stored_cells(table, profile):
    folder = RESULTS / profile
    assert (folder / f"{table.name}.md").exists() == (folder / table.name).exists()
    for path in folder.glob(f"{table.name}.*"):
        render = {".md": markdown.render, ".tex": latex.render}[path.suffix]
        assert path.read_text() == render(table, profile, RESULTS), path

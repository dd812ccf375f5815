"""The page of results: sections between two markers."""
import pytest

from systolith.sim.results_page import BEGIN, END, cells, old_section, percent, renew, section


@pytest.fixture
def page(tmp_path):
    path = tmp_path / "results.md"
    path.write_text(f"# Page\n\n{BEGIN}\n## One\n\na\n\n## Two\n\nb\n\n{END}\nrest\n")
    return path


def test_renewing_replaces_a_section_and_keeps_the_others(page):
    renew(["## Two\n\nc\n", "## Three\n\nd\n"], page)
    assert page.read_text() == (
        f"# Page\n\n{BEGIN}\n## One\n\na\n\n## Two\n\nc\n\n## Three\n\nd\n\n{END}\nrest\n")
    renew(["## Two\n\nc\n"], page)
    assert "## Three\n\nd\n" in page.read_text()


def test_renewing_all_leaves_nothing_else(page):
    renew(["## Three\n\nd\n"], page, keep=())
    assert page.read_text() == f"# Page\n\n{BEGIN}\n## Three\n\nd\n\n{END}\nrest\n"


def test_renewing_all_can_keep_some_in_their_places(page):
    renew(["## Three\n\nd\n"], page, keep=["Two"])
    assert page.read_text() == (
        f"# Page\n\n{BEGIN}\n## Two\n\nb\n\n## Three\n\nd\n\n{END}\nrest\n")


def test_an_old_section(page):
    assert old_section("Two", page) == "## Two\n\nb\n"
    assert old_section("Tw", page) is None


def test_cells_are_those_that_a_section_was_made_of():
    rows = [["a", "1,000", ""], ["b", "2", "yes"]]
    assert cells(section("Title", "Text with a | in it.", ("x", "y", "z"), rows)) == rows
    assert cells("") == []


def test_percent():
    assert (percent(0.1234), percent(None)) == ("12.3 %", "")

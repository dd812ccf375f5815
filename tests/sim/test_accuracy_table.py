"""The table of accuracies: rows, what is asked of them, and how one model's are renewed."""
from dataclasses import asdict

import pytest

from systolith.sim.accuracy_table import GOALS, TITLE, accuracy_section, numbers, rows_of
from systolith.sim.results_page import BEGIN, END, cells, renew
from systolith.sw.models.accuracy import Measure

PERPLEXITY = Measure("glassllm", "perplexity", 28160, 132.39, 132.47, 133.999)
ANSWERS = Measure("mathformer", "exact answers", 345, 345.0, 341.0, 340.0)
DIVISION = Measure("mathformer-div", "exact answers", 90, 90.0, 86.0, 85.0)
COSINE = Measure("minilm", "mean cosine to float", 10605, 1.0, 0.9991, 0.99882)


@pytest.fixture
def page(tmp_path):
    path = tmp_path / "results.md"
    path.write_text(f"# Page\n\n{BEGIN}{END}")
    return path


def test_rows_say_whether_the_goal_is_met(page):
    assert cells(accuracy_section([DIVISION, ANSWERS, PERPLEXITY], page)) == [
        ["mathformer-div", "exact answers", "90", "90", "86", "85", ""],
        ["mathformer", "exact answers", "345", "345", "341", "340", "at least 341: NO"],
        ["glassllm", "perplexity", "28,160", "132.39", "132.47", "134.00", "at most 134.0: yes"]]


def test_rows_of_other_models_stay_and_models_keep_their_order(page):
    for measures in ([COSINE], [PERPLEXITY], [DIVISION, ANSWERS],
                     [Measure("glassllm", "perplexity", 128, 1.5, 1.5, 2.25)]):
        renew([accuracy_section(measures, page)], page)
    text = page.read_text()
    assert text.count(f"## {TITLE}\n") == 1
    assert [row[:3] + row[5:] for row in cells(text)] == [
        ["mathformer-div", "exact answers", "90", "85", ""],
        ["mathformer", "exact answers", "345", "340", "at least 341: NO"],
        ["glassllm", "perplexity", "128", "2.25", "at most 134.0: yes"],
        ["minilm", "mean cosine to float", "10,605", "0.9988", "at least 0.997: yes"]]


@pytest.mark.parametrize(("key", "reached", "missed"), [
    (("mathformer", "exact answers"), 341.0, 340.0),
    (("glassllm", "perplexity"), 134.0, 134.1),
    (("glassllm", "identical greedy texts of 20 tokens"), 58.0, 57.0),
    (("minilm", "mean cosine to float"), 0.997, 0.9969),
    (("minilm", "probe accuracy"), 0.9951, 0.9949),
    (("smollm2", "perplexity of plays"), 1.03, 1.04),
    (("smollm2", "perplexity of news"), 1.03, 1.04)])
def test_goals(key, reached, missed):
    assert GOALS[key].met(Measure(*key, 1, 1.0, 1.0, reached))
    assert not GOALS[key].met(Measure(*key, 1, 1.0, 1.0, missed))


def test_every_goal_has_a_test():
    assert len(GOALS) == 7


@pytest.mark.parametrize(("values", "shown"), [
    ((345.0, 341.0, 0.0), ["345", "341", "0"]),
    ((132.0, 132.5, 133.0), ["132.00", "132.50", "133.00"]),
    ((1.0, 0.99912, 0.5), ["1.0000", "0.9991", "0.5000"])])
def test_numbers(values, shown):
    assert numbers(Measure("m", "x", 1, *values)) == shown


def test_rows_out_of_json():
    assert rows_of([asdict(COSINE)]) == [COSINE]
    for wrong in ({}, [1], [{"model": "a"}], [{**asdict(COSINE), "more": 1}]):
        with pytest.raises(ValueError, match="the file has no rows of `systolith eval --json`"):
            rows_of(wrong)

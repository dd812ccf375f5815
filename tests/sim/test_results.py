"""The tables of the page of results, and the command that renews them."""
import json
import sys

import pytest

from systolith.hw.configs import get_config
from systolith.hw.isa import ENGINES
from systolith.sim import results
from systolith.sim.commands.bench import Outcome
from systolith.sim.measure import Measure
from systolith.sim.results import bench_tables
from systolith.sim.results_page import BEGIN, END
from systolith.sim.shares import SHARES
from systolith.sim.whole_model import TITLE as WHOLE_MODEL
from systolith.sw.runtime.device import Counters, EngineCounters


def outcome(name, **lost):
    counters = Counters(cycles=200, engines={engine: EngineCounters() for engine in ENGINES})
    return Outcome(name, "rtl", Measure(get_config("sim16"), 256 * 180, counters), True,
                   {**dict.fromkeys(SHARES, 0.0), **lost}, 201)


def test_a_table_for_each_group_with_the_causes_that_occur():
    products, models = bench_tables([
        outcome("ragged-3x3x3", loads=7.0, padding=3.0), outcome("smollm2-1-qo", loads=10.0),
        outcome("model-minilm-128", vector=10.0)])
    assert products.startswith("## Matrix products\n")
    head, _, *rows = [line for line in products.splitlines() if line.startswith("|")]
    assert head.endswith("| of limit | loads % | padding % |")
    assert rows == ["| ragged-3x3x3 | yes | 200 | 201 | 90.0 % | array | 90.0 % | 7.0 | 3.0 |",
                    "| smollm2-1-qo | yes | 200 | 201 | 90.0 % | array | 90.0 % | 10.0 |  |"]
    assert "vector %" in models


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with an empty page of results."""
    monkeypatch.chdir(tmp_path)
    page = tmp_path / results.RESULTS
    page.parent.mkdir()
    page.write_text(f"# Page\n\n{BEGIN}{END}")
    return page


def renewed(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["results", *map(str, arguments)])
    results.main()


def test_a_section_is_renewed_alone(here, monkeypatch):
    monkeypatch.setattr(results, "SECTIONS", {"one": lambda progress: ["## One\n\na\n"],
                                              "two": lambda progress: ["## Two\n\nb\n"]})
    renewed(monkeypatch, "two")
    assert "## Two\n\nb\n" in here.read_text()
    assert "## One" not in here.read_text()


def test_all_sections_but_the_long_ones_are_renewed(here, monkeypatch):
    monkeypatch.setattr(results, "SECTIONS", {
        name: lambda progress, name=name: [f"## {name}\n\nnew\n"] for name in results.SECTIONS})
    here.write_text(f"{BEGIN}## softmax\n\nold\n\n## stale\n\nold\n\n"
                    f"## {WHOLE_MODEL}\n\nold\n{END}")
    renewed(monkeypatch)
    text = here.read_text()
    assert "stale" not in text
    assert f"## {WHOLE_MODEL}\n\nold\n" in text
    assert "## smollm2" not in text
    assert [name for name in results.USUAL if f"## {name}\n\nnew\n" not in text] == []


def test_rows_of_files_are_put_in(here, monkeypatch, tmp_path):
    file = tmp_path / "rows.json"
    file.write_text(json.dumps([{"model": "glassllm", "measure": "perplexity", "samples": 128,
                                 "float": 130.0, "int8": 131.0, "ours": 132.0}]))
    renewed(monkeypatch, "--rows", file)
    assert "| glassllm | perplexity | 128 |" in here.read_text()


@pytest.mark.parametrize(("arguments", "message"), [
    (("--rows", "none.json"), "none.json"), (("--run", "list.json"), "is not of a whole model"),
    (("--rows", "text.json"), "Expecting value")])
def test_files_that_cannot_be_put_in(here, monkeypatch, tmp_path, arguments, message):
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "text.json").write_text("rows")
    before = here.read_text()
    with pytest.raises(SystemExit, match=message):
        renewed(monkeypatch, *arguments)
    assert here.read_text() == before


def test_unknown_sections_and_no_page(here, monkeypatch, capsys):
    with pytest.raises(SystemExit):
        renewed(monkeypatch, "smol")
    assert "unknown section 'smol'; choose of softmax, bench" in capsys.readouterr().err
    here.unlink()
    with pytest.raises(SystemExit):
        renewed(monkeypatch, "softmax")
    assert "docs/results.md is not here" in capsys.readouterr().err

"""The page of results: its tables, and how they are renewed."""
import pytest

from systolith.hw.configs import get_config
from systolith.hw.isa import ENGINES
from systolith.sim.commands.bench import Outcome
from systolith.sim.measure import Measure
from systolith.sim.results import BEGIN, END, bench_tables, renew
from systolith.sim.shares import SHARES
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
    renew(["## Three\n\nd\n"], page, only=True)
    assert page.read_text() == f"# Page\n\n{BEGIN}\n## Three\n\nd\n\n{END}\nrest\n"

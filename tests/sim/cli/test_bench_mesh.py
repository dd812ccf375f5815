"""The command bench mesh."""
import pytest

from systolith.hw.config import ConfigError
from systolith.hw.mesh.config import MeshConfig
from systolith.sim.commands.bench_mesh import patterns_of, size_of
from tests.sim.cli.invoke import check_refused, result_of, systolith

SMALL = ("bench", "mesh", "--nodes", "2x2", "--bus-bytes", "4", "--queue-depth", "2")


def test_help_has_an_example():
    outcome = systolith("bench", "mesh", "--help")
    assert outcome.exit_code == 0
    assert "systolith bench mesh --nodes" in outcome.stdout.partition("Example:")[2]
    assert "bench mesh" in systolith("bench", "--help").stdout


def test_traffic_and_gather_are_measured():
    result = result_of(*SMALL, "--cycles", "200", "--seed", "5")
    assert list(result) == ["mesh", "cycles", "seed", "traffic", "gather"]
    assert result["mesh"] == {"width": 2, "height": 2, "bus_bytes": 4, "queue_depth": 2,
                              "crosspoint": True}
    assert result["traffic"]["idle_latency_over_hops"] == [1, 1]
    assert [each["pattern"] for each in result["traffic"]["patterns"]] == [
        "uniform", "transpose", "hot-spot", "all-to-one", "neighbour"]
    assert result["gather"]["percent_of_link"] > 90


def test_the_report_has_a_line_a_pattern():
    lines = systolith(*SMALL, "--cycles", "200").stdout.splitlines()
    assert "a packet takes a cycle a link, and 1" in lines[0]
    assert sum(line.startswith(("uniform", "transpose", "hot-spot", "all-to-one", "neighbour"))
               for line in lines) == 5
    assert any(line.startswith("all-gather") for line in lines)


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_a_picture_is_written(tmp_path, ending):
    pytest.importorskip("matplotlib")
    path = tmp_path / f"mesh.{ending}"
    outcome = systolith(*SMALL, "--what", "traffic", "--pattern", "neighbour", "--cycles", "200",
                        "--plot", path)
    assert outcome.exit_code == 0, outcome.output
    assert path.stat().st_size > 5000


@pytest.mark.parametrize(("arguments", "text"), [
    (("--nodes", "4"), "like 4x4, not '4'"),
    (("--nodes", "17x1"), "width must be an integer from 1 to 16, not 17"),
    (("--pattern", "tornado"), "unknown pattern 'tornado'; choose one of uniform, transpose,"),
    (("--nodes", "4x2", "--pattern", "transpose"), "as many rows as columns, not 4x2"),
    (("--nodes", "1x1", "--what", "gather"), "at least 2 nodes"),
    (("--what", "scaling"), "'scaling' cannot be measured; choose of traffic, gather, area"),
    (("--nodes", "1x1", "--what", "core-gather"), "at least 2 nodes"),
    (("--nodes", "2x2", "--what", "core-gather", "--core", "ecp5-25f"),
     "has 8192 bytes of activation memory, but an all-gather needs 49152; choose a larger"),
    (("--nodes", "1x1", "--what", "speed-up", "--core", "huge"), "unknown configuration 'huge'"),
    (("--what", "speed-up", "--core-size", "wgt_depth"), "like wgt_depth=2048, not 'wgt_depth'"),
    (("--what", "speed-up", "--work", "x"), "no work has a name that begins with 'x'"),
    (("--nodes", "2x1", "--what", "pipeline", "--requests", "2"),
     "more requests than cores, 2, not 2"),
    (("--nodes", "1x1", "--what", "pipeline"), "at least 2 nodes"),
    (("--what", "gather", "--plot", "mesh.png"), "--plot shows traffic"),
])
def test_mistakes_are_refused(arguments, text):
    check_refused(systolith("bench", "mesh", *arguments), 2, text)


def test_all_patterns_are_those_of_the_shape():
    assert patterns_of("all", MeshConfig(width=4, height=2)) == (
        "uniform", "hot-spot", "all-to-one", "neighbour")


@pytest.mark.parametrize("text", ["4xx2", "x4", "-1x4", "4 x 4"])
def test_a_size_is_two_numbers(text):
    assert size_of("4X2") == (4, 2)
    with pytest.raises(ConfigError, match="columns x rows"):
        size_of(text)

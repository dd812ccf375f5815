"""``systolith energy``: what it prints, its JSON, and what it says about mistakes."""
import pytest

from systolith.sw.estimate.energy import PARTS
from tests.sim.cli.invoke import check_refused, result_of, systolith

RUN_KEYS = {"name", "tokens", "macs", "seconds", "counts", "joules", "joules_total",
            "joules_per_token", "pj_per_mac", "watts"}


def test_a_decoder_on_a_chip():
    result = result_of("energy", "glassllm", "--length", "20")
    assert (result["estimate"], result["board"], result["mhz"]) == (True, None, 100)
    prefill, step = result["runs"]
    assert (prefill["tokens"], step["tokens"]) == (20, 1)
    for run in (prefill, step):
        assert set(run) == RUN_KEYS
        assert tuple(run["joules"]) == PARTS
        for end in (0, 1):
            whole = run["joules_total"][end]
            assert whole == pytest.approx(sum(span[end] for span in run["joules"].values()))
            assert run["joules_per_token"][end] == pytest.approx(whole / run["tokens"])
            assert run["pj_per_mac"][end] == pytest.approx(1e12 * whole / run["macs"])
            assert run["watts"][end] == pytest.approx(whole / run["seconds"])


def test_a_board_gives_configuration_clock_and_memory():
    result = result_of("energy", "glassllm", "--length", "20", "--board", "ulx3s-85f")
    assert (result["config"], result["board"], result["mhz"]) == ("ecp5-85f", "ulx3s-85f", 60)
    assert any(line.startswith("sdram_byte") for line in result["assumptions"])


def test_a_slower_clock_takes_a_board_longer_at_rest():
    arguments = ("energy", "glassllm", "--length", "20", "--board", "ulx3s-85f")
    fast, slow = (result_of(*arguments, *more)["runs"][0]["joules"] for more in (
        (), ("--mhz", "30")))
    assert slow["array"] == fast["array"]
    assert slow["static"] == pytest.approx([2 * end for end in fast["static"]])


def test_the_report_says_that_it_is_an_estimate():
    outcome = systolith("energy", "mathformer", "--prompt", "7*8=", "--config", "tiny")
    assert outcome.exit_code == 0, outcome.output
    for text in ("ESTIMATE", "mathformer-mul", "prefill of 4", "external memory", "A useful MAC",
                 "Horowitz", "not counted"):
        assert text in outcome.stdout


def test_picture(tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "energy.png"
    arguments = ("energy", "mathformer", "--prompt", "7*8=", "--config", "tiny", "--plot", path)
    assert systolith(*arguments).exit_code == 0
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_switching_is_measured_on_the_rtl():
    result = result_of("energy", "mathformer", "--prompt", "7*8=", "--config", "tiny", "--measure")
    toggles = result["switching"]["toggles"]
    assert set(toggles) == {"activation", "weight", "product", "sum"}
    assert all(0 < share < 1 for share in toggles.values())
    assert "measured now on the RTL of tiny" in " ".join(result["assumptions"])


@pytest.mark.parametrize(("arguments", "code", "text"), [
    (("nothing",), 2, "unknown model 'nothing'"),
    (("glassllm", "--config", "huge"), 2, "unknown configuration 'huge'"),
    (("glassllm", "--board", "huge"), 2, "unknown board 'huge'; choose one of icebreaker"),
    (("glassllm", "--board", "ulx3s-85f", "--config", "tiny"), 2,
     "built with configuration 'ecp5-85f', not 'tiny'"),
    (("glassllm", "--board", "orangecrab-85f"), 1, "but board 'orangecrab-85f' has 65,536"),
    (("glassllm", "--board", "icebreaker"), 1, "1441792 bytes of external memory"),
    (("glassllm", "--config", "mesh4"), 2, "has 4 cores"),
    (("glassllm", "--length", "1000"), 1, "glassllm takes at most 128"),
    (("glassllm", "--length", "3", "--measure"), 2, "not both"),
    (("glassllm", "--length", "3", "--prompt", "a"), 2, "not both"),
    (("glassllm", "--mhz", "-1"), 2, "--mhz must be a frequency above 0, not -1"),
    (("glassllm", "--plot", "x.txt"), 2, "must end in .png"),
])
def test_mistakes_are_named(arguments, code, text):
    check_refused(systolith("energy", *arguments), code, text)

"""``systolith estimate`` on a mesh."""
import pytest

from systolith.sim.commands import estimate_mesh
from tests.sim.cli.invoke import check_refused, result_of, systolith
from tests.sw.encoders import words_by_number

MESH = ("--config", "tiny@2x2")


def test_placements_of_an_encoder_side_by_side(monkeypatch):
    monkeypatch.setattr(estimate_mesh, "load_encoder", lambda name: words_by_number(layers=4))
    result = result_of("estimate", "minilm", "--length", "8", *MESH)
    assert set(result) == {"model", "config", "work", "ext_latency", "mhz", "ext_bytes_per_cycle",
                           "fastest", "placements"}
    assert result["work"] == "texts of 8 tokens"
    speeds = {each["placement"]: each["per_second"] for each in result["placements"]
              if "cycles" in each}
    assert len(speeds) > 1
    assert result["fastest"] == max(speeds, key=speeds.get)
    assert all(len(each["cores"]) == 4 for each in result["placements"] if "cycles" in each)


def test_a_slower_memory_is_not_faster(monkeypatch):
    monkeypatch.setattr(estimate_mesh, "load_encoder", lambda name: words_by_number(layers=2))
    near, far = ({each["placement"]: each["cycles"] for each in result_of(
        "estimate", "minilm", "--length", "8", *MESH, "--ext-latency", latency)["placements"]
        if "cycles" in each} for latency in ("8", "200"))
    assert near.keys() == far.keys()
    assert all(near[name] <= far[name] for name in near)
    assert near != far


def test_a_table_shows_what_was_refused_and_why():
    outcome = systolith("estimate", "glassllm", "--length", "20", *MESH)
    assert outcome.exit_code == 0, outcome.output
    shown = " ".join(outcome.stdout.split())
    for text in ("Fastest", "core, texts", "Not columns", "do not fit the 4 cores"):
        assert text in shown


def test_a_single_layer_is_refused():
    check_refused(systolith("estimate", "glassllm", "--layer", "0", "--length", "20", *MESH), 2,
                  "has 4 cores, of which a single layer is not estimated")


@pytest.mark.parametrize("length", ["0", "100000"])
def test_lengths_beyond_the_model_are_refused(length):
    outcome = systolith("estimate", "mathformer-mul", "--length", length, *MESH)
    assert outcome.exit_code in {1, 2}
    assert "length" in outcome.stderr.lower()
    assert "Traceback" not in outcome.output

"""``systolith trace``: files, JSON, and what it says about mistakes."""
import json

import pytest

from tests.sim.cli.invoke import check_refused, result_of, systolith
from tests.sim.test_timeline import check_events

SUM = ("trace", "mathformer", "--prompt", "7*8=", "--config", "tiny")


def test_whole_model_with_all_files(tmp_path):
    names = {"-o": "trace.json", "--report": "report.html", "--wave": "wave.vcd"}
    files = [part for option, name in names.items() for part in (option, tmp_path / name)]
    result = result_of(*SUM, "--tokens", 3, "--from", 200, "--to", 260, *files)
    assert (result["model"], result["config"], result["runs"]) == ("mathformer-mul", "tiny", 3)
    useful = result["macs"] / result["peak_macs_per_cycle"]
    assert sum(result["lost"].values()) + useful == pytest.approx(result["cycles"])
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    check_events(events)
    assert any(event["name"].startswith("layer 0 ") for event in events)
    assert "mathformer-mul on tiny" in (tmp_path / "report.html").read_text()
    assert "#2600\n" not in (tmp_path / "wave.vcd").read_text()
    assert {path.name for path in tmp_path.iterdir()} == {
        *names.values(), "wave.gtkw", "wave.sucl"}


def test_one_layer_and_stalls():
    outcome = systolith("trace", "glassllm", "--layer", 1, "--prompt", "Alice", "--config", "tiny",
                        "--stall", 20)
    assert outcome.exit_code == 0, outcome.stderr
    assert "where the array's cycles went" in outcome.stdout


def test_benchmark():
    result = result_of("trace", "ragged-3x3x3", "--config", "tiny")
    assert (result["model"], result["macs"]) == ("ragged-3x3x3", 27)


def test_benchmark_with_a_prompt():
    check_refused(systolith("trace", "ragged-3x3x3", "--prompt", "x"), 2,
                  "leave out --layer, --prompt and --tokens")


@pytest.mark.parametrize(("arguments", "text"), [
    (("--wave", "wave.fst"), "wave.fst must end in .vcd"),
    (("--from", "5", "--to", "5"), "--to must be after --from 5, not 5"),
    (("-o", "no/such/folder.json"), "folder no/such does not exist"),
    (("--config", "huge"), "unknown configuration 'huge'")])
def test_mistakes(arguments, text):
    check_refused(systolith(*SUM, *arguments), 2, text)

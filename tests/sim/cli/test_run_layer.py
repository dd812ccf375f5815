"""Runs of the attention of a layer."""
import json

import pytest

from systolith.hw.config import Config
from systolith.hw.configs import CONFIGS
from systolith.sw.runtime.functional import FunctionalDevice
from tests.sim.cli.invoke import ENGINE_KEYS, FUNCTIONAL, check_refused, result_of, systolith

RUN_KEYS = {
    "model", "layer", "prompt", "tokens", "config", "device", "stall", "seed",
    "memory", "bit_exact",
    "different_bytes", "output_bytes", "cycles", "macs", "peak_macs_per_cycle", "utilization",
    "engines", "move_bytes", "mean_abs_error", "max_abs_error", "output_rms", "seconds", "layers"}


def test_run_on_the_functional_device():
    result = result_of("run", *FUNCTIONAL)
    assert set(result) == RUN_KEYS
    assert (result["model"], result["layer"], result["config"]) == ("glassllm", 0, "tiny")
    assert (result["prompt"], result["device"]) == ("Alice was", "functional")
    assert (result["bit_exact"], result["different_bytes"]) == (True, 0)
    assert (result["cycles"], result["utilization"]) == (None, None)
    assert result["output_bytes"] == result["tokens"] * 128 * 2
    assert (result["peak_macs_per_cycle"], result["macs"] > 0) == (16, True)
    assert 0 < result["mean_abs_error"] < result["max_abs_error"] < result["output_rms"]
    assert list(result["engines"]) == ["move", "matrix", "vector"]
    for engine in result["engines"].values():
        assert set(engine) == ENGINE_KEYS
        assert (engine["idle"], engine["busy"] > 0, engine["commands"] > 0) == (None, True, True)


def test_run_prints_a_report_and_writes_json(tmp_path):
    outcome = systolith("run", *FUNCTIONAL, "--json", tmp_path / "report.json")
    assert outcome.exit_code == 0
    for text in ("glassllm, attention of layer 0 of 4", "Alice was (", "4 x 4 cells", "yes: all",
                 "matrix", "Float error"):
        assert text in outcome.stdout
    assert set(json.loads((tmp_path / "report.json").read_text())) == RUN_KEYS


def test_run_without_a_prompt_takes_one_of_the_model():
    result = result_of("run", "--device", "functional")
    assert result["tokens"] > 16
    assert result["prompt"].startswith("Alice was beginning")


def test_run_takes_a_prompt_as_it_is():
    outcome = systolith("run", *FUNCTIONAL[:-1], "It's [bold] so")
    assert outcome.exit_code == 0
    assert "It's [bold] so (" in outcome.stdout


def test_run_all_layers():
    result = result_of("run", *FUNCTIONAL, "--layer", "all")
    assert result["layer"] == "all"
    assert [layer["layer"] for layer in result["layers"]] == [0, 1, 2, 3]
    for key in ("macs", "output_bytes", "move_bytes"):
        assert result[key] == sum(layer[key] for layer in result["layers"])
    assert result["max_abs_error"] == max(layer["max_abs_error"] for layer in result["layers"])
    outcome = systolith("run", *FUNCTIONAL, "--layer", "all")
    assert "all 4 layers" in outcome.stdout


def test_a_wrong_byte_is_counted_and_fails(monkeypatch):
    read = FunctionalDevice.read

    def wrong(self, memory, offset, size):
        data = bytearray(read(self, memory, offset, size))
        data[0] ^= 1
        return bytes(data)

    monkeypatch.setattr(FunctionalDevice, "read", wrong)
    outcome = systolith("run", *FUNCTIONAL, "--json", "-")
    assert outcome.exit_code == 1
    result = json.loads(outcome.stdout)
    assert (result["bit_exact"], result["different_bytes"]) == (False, 1)
    assert "1 of" in outcome.stderr
    outcome = systolith("run", *FUNCTIONAL)
    assert (outcome.exit_code, "NO: 1 of" in outcome.stdout) == (1, True)


@pytest.mark.parametrize(("arguments", "code", "text"), [
    (["--config", "huge"], 2, "unknown configuration 'huge'; choose one of tiny, tall, sim16"),
    (["nobody"], 2, "unknown model 'nobody'; choose one of glassllm,"),
    (["--layer", "4"], 2, "layer 4 is outside glassllm, which has layers 0 to 3"),
    (["--layer", "first"], 2, "'first' is neither a number nor 'all'"),
    (["--prompt", ""], 2, "the prompt is empty"),
    (["--prompt", "a\u20ac"], 2, "outside the vocabulary of glassllm"),
    (["--prompt", "Alice " * 200], 2, "takes at most 128"),
    (["--device", "board"], 2, "'board' is not one of"),
    (["--stall", "20"], 2, "--stall needs --device rtl"),
    (["--memory", "sdram"], 2, "--memory needs --device rtl"),
    (["--memory", "none"], 2, "'none' is not one of ideal, sdram"),
    (["--layer", "all", "--save", "x"], 2, "--save writes one layer"),
    (["--json", "/nowhere/report.json"], 2, "folder /nowhere does not exist"),
    (["--save", "."], 2, ". is a folder; name a file"),
    (["--max-cycles", "0"], 2, "--max-cycles"),
])
def test_run_refuses(arguments, code, text):
    check_refused(systolith("run", "--device", "functional", *arguments), code, text)


def test_a_layer_that_does_not_fit_fails(monkeypatch):
    monkeypatch.setitem(CONFIGS, "small", Config(name="small", rows=4, cols=4, lanes=4))
    check_refused(systolith("run", *FUNCTIONAL, "--config", "small"), 1,
                  "the nearest configuration that fits is 'tiny'")


def test_a_model_file_that_is_cut_short(tmp_path):
    (tmp_path / "cut.npz").write_bytes(b"PK\3\4 cut short")
    check_refused(systolith("run", tmp_path / "cut.npz", "--device", "functional"), 2, "cut.npz")


@pytest.mark.slow
def test_run_on_the_rtl():
    result = result_of("run", *FUNCTIONAL, "--device", "rtl", "--stall", "20", "--seed", "3")
    assert (result["bit_exact"], result["device"], result["stall"]) == (True, "rtl", 20)
    assert result["utilization"] == pytest.approx(result["macs"] / result["cycles"] / 16)
    for engine in result["engines"].values():
        states = ENGINE_KEYS - {"commands"}
        assert sum(engine[state] for state in states) == result["cycles"]
        assert engine["idle"] >= 0
    check_refused(systolith("run", *FUNCTIONAL, "--device", "rtl", "--max-cycles", "50"), 1,
                  "not finished after 50 cycles")

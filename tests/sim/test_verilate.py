"""The Verilator build and the C++ harness, on a stand-in with the chip's ports."""
import time

import numpy as np
import pytest
from amaranth.back import verilog
from vcdvcd import VCDVCD

from systolith.sim import cxx, toolchain, verilate
from systolith.sim.harness import Harness, HarnessError, Outcome
from systolith.sim.progress import Progress
from systolith.sim.toolchain import ToolchainError
from tests.sim import standin

REGISTERS = {"windows": standin.WINDOWS, "space_address": standin.SPACE,
             "control_address": standin.CONTROL, "control_value": 1,
             "status_address": standin.STATUS, "idle_mask": standin.IDLE,
             "error_mask": standin.ERROR}


def source(bus_bytes):
    return verilog.convert(standin.StandIn(bus_bytes=bus_bytes), name="chip", emit_src=False)


@pytest.fixture(scope="module", params=[4, 8, 16])
def library(request):
    return request.param, verilate.build_simulator(source(request.param), bus_bytes=request.param)


@pytest.fixture(params=[0, 40], ids=["smooth", "stalls"])
def chip(library, request):
    with Harness(library[1], ext_bytes=4096, latency=5, stall_percent=request.param,
                 seed=7) as harness:
        harness.reset()
        yield harness


def sums(chip):
    return [int(value) for value in chip.host_read(standin.SUMS, 3)]


def test_host_words(chip):
    chip.host_write(standin.SCRATCH, 0xFEEDF00D)
    assert chip.host_read(standin.SCRATCH) == 0xFEEDF00D


def test_host_blocks_keep_order(chip):
    chip.host_write(standin.SCRATCH, range(100), stride=0)
    np.testing.assert_array_equal(chip.host_read(standin.SCRATCH, 50, stride=0), [99] * 50)


def test_host_block_takes_one_cycle_a_word(library):
    with Harness(library[1], ext_bytes=0) as chip:
        chip.reset()
        before = chip.cycles
        chip.host_write(standin.SCRATCH, np.arange(1000), stride=0)
        assert chip.cycles - before <= 1001


def test_external_memory_is_read_and_written_in_order(library, chip):
    bus_bytes, _ = library
    data = np.arange(bus_bytes, dtype=np.uint8) + 3
    chip.write_ext(64, data)
    chip.host_write(standin.COPY, 64)
    chip.step(200)
    np.testing.assert_array_equal(chip.read_ext(64 + bus_bytes, bus_bytes), ~data)
    assert chip.ext_fault is None
    assert chip.ext_written["value"].tolist() == [64 + bus_bytes]
    assert 0 < chip.ext_written["time"][0] < chip.cycles
    chip.run_queues([[], [], []], max_cycles=100, **REGISTERS)
    assert not len(chip.ext_written)


def test_external_access_past_the_end_is_named(library, chip):
    bus_bytes, _ = library
    last = 4096 - bus_bytes
    chip.host_write(standin.COPY, last)
    chip.step(200)
    assert chip.ext_fault == 4096
    chip.reset()
    assert chip.ext_fault is None


def test_unaligned_external_access_is_named(chip):
    chip.host_write(standin.COPY, 66)
    chip.step(200)
    assert chip.ext_fault == 66


def test_python_access_past_the_end_is_refused(chip):
    with pytest.raises(HarnessError, match=r"8 bytes at 0xffc are outside external memory"):
        chip.write_ext(4092, bytes(8))
    with pytest.raises(HarnessError, match=r"1 bytes at 0x1000 are outside external memory"):
        chip.read_ext(4096, 1)


def test_run_pushes_more_than_the_queues_hold_and_never_overruns(chip):
    queues = [range(1000), range(10), []]
    result = chip.run_queues(queues, max_cycles=100_000, **REGISTERS)
    assert result.outcome is Outcome.OK
    assert result.status == standin.IDLE
    assert result.pushed == (1000, 10, 0)
    assert result.cycles >= (1000 - standin.DEPTH) * standin.DRAIN
    assert sums(chip) == [sum(range(1000)), 45, 0]


def test_empty_run_ends(chip):
    assert chip.run_queues([[], [], []], max_cycles=100, **REGISTERS).outcome is Outcome.OK


def test_run_ends_on_error_and_works_after_reset(chip):
    words = [[1, standin.POISON, *range(200)], [], []]
    result = chip.run_queues(words, max_cycles=100_000, **REGISTERS)
    assert result.outcome is Outcome.ERROR
    assert result.status & standin.ERROR
    chip.reset()
    assert chip.run_queues([[4], [], []], max_cycles=1000, **REGISTERS).outcome is Outcome.OK


@pytest.mark.parametrize("count", [5, 500])
def test_run_that_never_drains_ends_at_the_limit(chip, count):
    registers = {**REGISTERS, "control_value": 0}
    result = chip.run_queues([range(count), [], []], max_cycles=2000, **registers)
    assert result.outcome is Outcome.TIMEOUT
    assert 2000 <= result.cycles < 2300
    assert result.pushed == (min(count, standin.DEPTH), 0, 0)
    chip.host_write(standin.CONTROL, 1)  # the host port still works
    chip.step(standin.DEPTH * standin.DRAIN + 10)
    assert chip.host_read(standin.STATUS) == standin.IDLE


def test_run_reports_an_external_fault(chip):
    chip.host_write(standin.COPY, 1 << 20)
    chip.step(200)
    assert chip.ext_fault == 1 << 20
    registers = {**REGISTERS, "windows": (standin.COPY, *standin.WINDOWS[1:]), "idle_mask": 0}
    result = chip.run_queues([[1 << 20], [], []], max_cycles=10_000, **registers)
    assert result.outcome is Outcome.EXT_FAULT


def test_dead_host_port_is_an_error_not_a_hang(library):
    with Harness(library[1], ext_bytes=0) as chip:
        chip.reset()
        with pytest.raises(HarnessError, match=r"did not finish the read of 9 words at 0x0"):
            chip.host_read(standin.SCRATCH, 9, limit=3)
        chip.reset()
        assert chip.host_read(standin.STATUS) == standin.IDLE


def test_same_seed_same_cycles(library):
    def cycles(seed):
        with Harness(library[1], ext_bytes=0, stall_percent=50, seed=seed) as chip:
            chip.reset()
            chip.run_queues([range(50), range(50), range(50)], max_cycles=10_000, **REGISTERS)
            return chip.cycles
    assert cycles(3) == cycles(3)
    assert len({cycles(seed) for seed in range(5)}) > 1


@pytest.mark.parametrize(("arguments", "message"), [
    ({"stall_percent": 96}, "stall_percent must be from 0 to 95, not 96"),
    ({"latency": 0}, "latency and gap at least 1, not 64, 0 and 1"),
    ({"gap": 0.5}, "latency and gap at least 1, not 64, 8 and 0.5"),
])
def test_rejected_parameters(library, arguments, message):
    with pytest.raises(ValueError, match=message):
        Harness(library[1], **{"ext_bytes": 64, **arguments})


def test_trace(tmp_path):
    library = verilate.build_simulator(source(4), bus_bytes=4, trace=True)
    with Harness(library, ext_bytes=64) as chip:
        chip.trace_open(tmp_path / "chip.vcd")
        chip.reset()
        chip.host_write(standin.SCRATCH, 1)
        chip.trace_close()
    assert any("host_request__valid" in name
               for name in VCDVCD(str(tmp_path / "chip.vcd")).signals)


def test_trace_needs_its_own_build(library, tmp_path):
    with Harness(library[1], ext_bytes=64) as chip, \
            pytest.raises(HarnessError, match="built without traces"):
        chip.trace_open(tmp_path / "chip.vcd")


def test_second_build_comes_from_the_cache(library):
    bus_bytes, path = library
    start = time.perf_counter()
    again = verilate.build_simulator(source(bus_bytes), bus_bytes=bus_bytes)
    assert again == path
    assert time.perf_counter() - start < 3


def test_key_depends_on_everything():
    base = verilate.simulator_key("module chip", bus_bytes=4)
    assert base == verilate.simulator_key("module chip", bus_bytes=4)
    assert len({base, verilate.simulator_key("module chip;", bus_bytes=4),
                verilate.simulator_key("module chip", bus_bytes=8),
                verilate.simulator_key("module chip", bus_bytes=4, trace=True)}) == 4


def test_wrong_sources_are_refused(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="no module named 'chip'"):
        verilate.build_simulator("module other; endmodule", bus_bytes=4)
    with pytest.raises(ValueError, match="bus_bytes must be 4, 8 or 16, not 3"):
        verilate.build_simulator("module chip; endmodule", bus_bytes=3)
    monkeypatch.setenv("SYSTOLITH_CACHE", str(tmp_path))
    monkeypatch.setattr(cxx, "runtime_objects", lambda names: [])
    with pytest.raises(ToolchainError, match=r"(?s)Verilator on chip failed.*syntax error"):
        verilate.build_simulator("module chip; nonsense endmodule", bus_bytes=4,
                                 progress=Progress(quiet=True))
    # A failed build leaves nothing that looks finished.
    assert not [path for path in (tmp_path / "simulators").iterdir() if path.is_dir()]


def test_missing_compiler_names_the_remedy(monkeypatch):
    toolchain.find_compiler.cache_clear()
    monkeypatch.setenv("CXX", "no-such-compiler")
    try:
        with pytest.raises(ToolchainError, match=r"CXX is 'no-such-compiler'.*install g\+\+"):
            toolchain.find_compiler()
        monkeypatch.delenv("CXX")
        monkeypatch.setenv("PATH", "")
        with pytest.raises(ToolchainError, match=r"no C\+\+ compiler on PATH: .*apt-get install g"):
            toolchain.find_compiler()
    finally:
        toolchain.find_compiler.cache_clear()


def test_all_tools_are_found():
    assert [tool for tool in toolchain.check_tools() if not tool.found] == []

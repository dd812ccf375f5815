"""Whole programs in the cycle model."""
import pytest

from systolith.hw.config import ConfigError
from systolith.hw.configs import get_config
from systolith.hw.isa import ENGINES, Engine, Load, Pass, Product
from systolith.sw.compiler import compile_product
from systolith.sw.estimate import ExternalMemory, estimate, external_memory
from systolith.sw.estimate.external import SDRAM_RATE
from systolith.sw.runtime.device import StuckError
from systolith.sw.runtime.functional import FunctionalDevice

CONFIG = get_config("tiny")


def test_a_product_by_itself():
    result = estimate(CONFIG, {Engine.MATRIX: [Product(count0=5, count1=2, count2=3)]})
    # Its last word leaves the queue in cycle 0, so it is complete in 1, taken in 2, runs for 30 and
    # its last write is retired; then the core is idle.
    assert result.cycles == 2 + 30 + CONFIG.matrix_latency + 1
    timing = result.timings[Engine.MATRIX][0]
    assert (timing.start, timing.end, timing.retired) == (3, 32, 32 + CONFIG.matrix_latency)
    assert result.counters.engines[Engine.MATRIX].busy == 30
    assert result.bound == "array"
    assert result.of_limit == 30 / result.cycles


def test_nothing_takes_no_time():
    result = estimate(CONFIG, {})
    assert result.cycles == 0


def test_states_of_an_engine_never_exceed_the_run():
    program = compile_product(CONFIG, m=20, k=33, n=17).program
    result = estimate(CONFIG, program.commands)
    for engine in result.counters.engines.values():
        states = engine.busy + engine.stall + engine.wait_semaphore + engine.wait_fence
        assert 0 < states <= result.cycles or engine.commands == 0


def test_beats_commands_and_bytes_are_those_of_the_functional_device():
    program = compile_product(CONFIG, m=20, k=33, n=17).program
    commands = {**program.commands, Engine.MOVE: [
        Load(region=2, rows=3, row_bytes=8, ext_base=0, ext_stride=8, base=4096, stride=8)]}
    device = FunctionalDevice(CONFIG)
    device.run(commands)
    expected, result = device.wait(), estimate(CONFIG, commands).counters
    assert result.move_bytes == expected.move_bytes
    for engine in ENGINES:
        assert result.engines[engine].busy == expected.engines[engine].busy
        assert result.engines[engine].commands == expected.engines[engine].commands


def test_commands_that_wait_for_each_other_are_named():
    with pytest.raises(StuckError, match="the MATRIX engine does not go on after 1 command"):
        estimate(CONFIG, {Engine.MATRIX: [Product(count0=1, count1=1, count2=1),
                                          Product(count0=1, count1=1, count2=1, wait=1)]})


def test_parts_add_up_to_the_run():
    products = [Product(count0=10, count1=1, count2=1) for _ in range(5)]
    result = estimate(CONFIG, {Engine.MATRIX: products,
                               Engine.VECTOR: [Pass(rows=9, beats=9, valid=36)]})
    parts = result.parts({"inputs": 0, "layer 0": 2, "layer 1": 2, "pool": 1})
    assert list(parts) == ["layer 0", "layer 1", "pool"]
    assert sum(parts.values()) == result.cycles
    assert parts["layer 1"] == 22, "a product every 11 cycles, for so long takes fetching"
    assert result.parts({}) == {}


@pytest.mark.parametrize(("fields", "message"), [
    ({"latency": 0}, "latency of the external memory must be at least 1 cycle, not 0"),
    ({"bytes_per_cycle": -1}, "bytes a cycle of the external memory must be above 0, not -1"),
    ({"bytes_per_cycle": float("nan")}, "must be above 0, not nan"),
])
def test_impossible_external_memories(fields, message):
    with pytest.raises(ConfigError, match=message):
        ExternalMemory(**fields)


def test_an_external_memory_is_no_faster_than_the_bus():
    assert ExternalMemory(bytes_per_cycle=100).rate(CONFIG) == CONFIG.bus_bytes
    assert ExternalMemory(bytes_per_cycle=1).gap(CONFIG) == 4


@pytest.mark.parametrize(("config", "latency"), [("tiny", 11), ("sim16", 17)])
def test_memories_by_name(config, latency):
    chosen = get_config(config)
    assert external_memory("ideal", chosen) == ExternalMemory()
    found = external_memory("sdram", chosen)
    assert (found.latency, found.bytes_per_cycle) == (latency, SDRAM_RATE)
    with pytest.raises(ConfigError, match="unknown external memory 'flash'; choose one of ideal"):
        external_memory("flash", chosen)

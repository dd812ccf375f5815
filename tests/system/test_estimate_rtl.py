"""The cycle model beside the RTL."""
import numpy as np
import pytest

from systolith.hw.config import Region
from systolith.hw.configs import CONFIGS, get_config
from systolith.hw.isa import Engine, Load, Store
from systolith.sim.agreement import CASES, SMALL, cells, compare, compare_streams
from systolith.sim.progress import Progress
from systolith.sim.rtl import RtlDevice
from systolith.sw.estimate import ExternalMemory, estimate, external_memory
from tests.random_streams import streams

#: What the two may differ by.
LIMIT = 0.02

QUIET = Progress(quiet=True)

#: Short queues that the host must refill all the time, columns in groups, a narrow vector unit.
HASTY = get_config("tall").replace(name="hasty", cols=8, hop=2, queue_depth=32)

#: The latencies of an FPGA.
LATE = get_config("tall").replace(name="late", hop=2, scalar_cycles=10, read_cycles=2,
                                  port_cycles=1)


def check_random(config, *, latency, count, seeds):
    """Every counter of every engine is that of the RTL."""
    stalls = 0
    with RtlDevice(config, external=ExternalMemory(latency=latency)) as device:
        for seed in range(seeds):
            work = streams(np.random.default_rng(seed), config, count, ordered=seed % 2)
            row = compare_streams(f"seed {seed}", work, device)
            assert row.model == row.rtl, row.name
            stalls += sum(engine.stall for engine in row.rtl.engines.values())
    assert stalls > 20 * seeds, "the engines must get into each other's way"


@pytest.mark.parametrize(("latency", "count", "seeds"), [(8, 60, 40), (90, 120, 6)])
def test_random_commands(latency, count, seeds):
    check_random(get_config("tiny"), latency=latency, count=count, seeds=seeds)


def test_random_commands_with_the_latencies_of_an_fpga():
    check_random(LATE, latency=8, count=60, seeds=30)


@pytest.mark.slow
@pytest.mark.parametrize("latency", [1, 30])
def test_random_commands_out_of_short_queues(latency):
    check_random(HASTY, latency=latency, count=150, seeds=30)


def test_loads_from_a_memory_that_holds_back_at_random():
    """The simulator has no steady memory of less than the bus's rate; on average this is one."""
    config = get_config("tiny")
    rate = config.bus_bytes / 2
    moves = [Load(region=Region.ACT, rows=1, row_bytes=8192, ext_base=0, base=0)] * 4
    with RtlDevice(config, stall_percent=50, seed=1) as device:
        device.run({Engine.MOVE: moves})
        expected = device.wait().cycles
    found = estimate(config, {Engine.MOVE: moves}, ExternalMemory(bytes_per_cycle=rate)).cycles
    assert found == pytest.approx(expected, rel=0.04)
    assert found >= 4 * 8192 / rate


def check_cases(names, config, latency=8):
    for row in compare(names, config, latency=latency, progress=QUIET):
        assert abs(row.difference) <= LIMIT, cells(row)
        assert row.model.move_bytes == row.rtl.move_bytes
        for engine, expected in row.rtl.engines.items():
            found = row.model.engines[engine]
            assert (found.busy, found.commands) == (expected.busy, expected.commands)


@pytest.mark.parametrize("latency", [8, 100])
def test_small_work_on_tiny(latency):
    check_cases(("product-3x3x3", "product-127x31x33", "attention-16", "mathformer-add-prefill-6",
                 "mathformer-add-step-6"), get_config("tiny"), latency)


@pytest.mark.slow
@pytest.mark.parametrize("name", [
    name for name, config in CONFIGS.items() if name != "sim16" and not config.compact])
def test_small_work(name):
    check_cases(SMALL, get_config(name))


@pytest.mark.slow
def test_every_benchmark():
    check_cases(CASES, get_config("sim16"))


@pytest.mark.slow
def test_slow_external_memory():
    check_cases([name for name in CASES if not name.startswith("minilm")], get_config("sim16"),
                latency=100)


@pytest.mark.parametrize("name", ["tiny", "sim16"])
def test_moves_with_an_sdram(name):
    """The cycle model and the simulator have one memory, so they agree in every cycle."""
    config = get_config(name)
    load = Load(region=Region.ACT, rows=4, row_bytes=64, ext_base=0, ext_stride=256, base=0,
                stride=64)
    store = Store(region=Region.ACT, rows=1, row_bytes=4096, ext_base=0, base=0)
    with RtlDevice(config, external=external_memory("sdram", config)) as device:
        for moves in ([load] * 8, [store] * 4, [load, store] * 4):
            row = compare_streams("moves", {Engine.MOVE: moves}, device)
            assert row.model.cycles == row.rtl.cycles

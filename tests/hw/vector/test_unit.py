# amaranth: UnusedElaboratable=no
"""The whole vector unit against the functional model of its commands."""
import cocotb
import numpy as np
import pytest

from systolith.hw.config import Config, Region
from systolith.hw.isa import (
    Addend,
    Cause,
    Combine,
    Function,
    Output,
    Pass,
    Reduce,
    Scalar,
    Scale,
    Sink,
    Source,
    Table,
)
from systolith.hw.vector.unit import VectorUnit
from systolith.sw.reference.addressing import CommandFault, check
from tests.bench import parameters, simulate
from tests.hw.vector.commands import random_commands
from tests.hw.vector.harness import Harness

#: rows, cols, lanes, bus bytes.
SIZES = {"tiny": (4, 4, 4, 4), "tall": (8, 4, 2, 4), "wide": (4, 16, 4, 4), "mid": (8, 16, 8, 8),
         "sim16": (16, 16, 16, 16)}


def small_config(name: str, **changes) -> Config:
    """A configuration with memories small enough to be compared after every run."""
    rows, cols, lanes, bus = SIZES[name]
    sizes = {"rows": rows, "cols": cols, "lanes": lanes, "bus_bytes": bus, "act_depth": 64,
             "wgt_depth": 32, "acc_depth": 32, "vec_depth": 256, "const_depth": 32,
             "row_depth": 64, "ext_bytes": 0}
    return Config(name=name, **{**sizes, **changes})


def config_of(size: str, given: dict) -> Config:
    return small_config(size, **{key: given[key] for key in (
        "tables", "scalar_cycles", "read_cycles", "port_cycles") if key in given})


def run(size: str, testcase: str, **given) -> None:
    simulate(VectorUnit(config=config_of(size, given)), "vector_unit", __name__, testcase=testcase,
             parameters={"size": size, **given})


async def harness_of(dut) -> Harness:
    given = parameters()
    config = config_of(given["size"], given)
    harness = Harness(dut, config, np.random.default_rng(given.get("seed", 1)),
                      acc_stall=given.get("stall", 0.0))
    await harness.start()
    return harness


@cocotb.test()
async def random_passes(dut):
    harness = await harness_of(dut)
    for command in random_commands(harness.config, harness.rng, parameters()["count"]):
        await harness.execute(command)
    await harness.compare()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("stall", [0.0, 0.4])
def test_random_passes(size, stall):
    run(size, "random_passes", stall=stall, count=60, seed=7)


@pytest.mark.parametrize("size", ["tall", "mid"])
def test_random_passes_with_late_memories(size):
    run(size, "random_passes", stall=0.4, count=60, seed=8, read_cycles=2, port_cycles=1)


#: A scale that turns INT32 accumulators into numbers with 7 bits more than 8.
WIDE = {"scale": Scale.TENSOR, "multiplier": 40000, "shift": 30}

#: Passes as attention uses them, by name.
ATTENTION = {
    "row maximum": Pass(rows=5, beats=3, valid=11, reduce=Reduce.MAX, source_row_stride=3,
                        source_tile_stride=1, **WIDE),
    "softmax": Pass(rows=5, beats=3, valid=11, causal=1, position=4, addend=Addend.ROW,
                    function=Function.EXP2, reduce=Reduce.SUM, scalar=Scalar.RECIPROCAL, narrow=1,
                    output=Output.UINT8, sink=Sink.ACT, row_write=8, source_row_stride=3,
                    source_tile_stride=1, sink_row_stride=3, sink_tile_stride=1, **WIDE),
    "folded division": Pass(rows=5, beats=2, valid=8, scale=Scale.COLUMN, row_scale=1, row_read=8,
                            sink=Sink.ACT, source_row_stride=2, source_tile_stride=1,
                            sink_row_stride=2, sink_tile_stride=1),
    "keys": Pass(rows=6, beats=2, valid=7, position=13, scale=Scale.COLUMN, addend=Addend.COLUMN,
                 combine=Combine.ROTATE, narrow=1, sink=Sink.WGT_LANES, source_row_stride=2,
                 source_tile_stride=1, stream_base=40, stream_row_stride=2, sink_row_stride=2,
                 sink_tile_stride=1),
    "values": Pass(rows=6, beats=2, valid=7, position=15, scale=Scale.COLUMN, sink=Sink.WGT_ROWS,
                   source_row_stride=2, source_tile_stride=1, sink_row_stride=2,
                   sink_tile_stride=1),
    "residual": Pass(rows=6, beats=2, valid=8, scale=Scale.COLUMN, combine=Combine.ADD,
                     output=Output.INT16, sink=Sink.VEC, source_row_stride=2, source_tile_stride=1,
                     stream_base=40, stream_row_stride=2, sink_base=64, sink_row_stride=2,
                     sink_tile_stride=1),
    "squares": Pass(rows=6, beats=2, valid=8, source=Source.VEC, combine=Combine.SELF,
                    reduce=Reduce.SUM, source_base=40, source_row_stride=2, source_tile_stride=1,
                    row_write=20),
    "all masked": Pass(rows=3, beats=2, valid=0, reduce=Reduce.MAX, row_write=30, sink=Sink.ACT),
    "nothing seen": Pass(rows=3, beats=1, valid=0, reduce=Reduce.SUM, scalar=Scalar.RECIPROCAL,
                         row_write=34),
    "one element": Pass(rows=3, beats=1, valid=1, reduce=Reduce.ABSMAX, scalar=Scalar.RECIPROCAL,
                        row_write=38),
    "farthest position": Pass(rows=4, beats=2, valid=8, position=65534, causal=1,
                              reduce=Reduce.MAX, row_write=42, sink=Sink.WGT_LANES,
                              sink_row_stride=1),
}


@cocotb.test()
async def attention(dut):
    harness = await harness_of(dut)
    await harness.execute(Table(table=0))
    for command in ATTENTION.values():
        await harness.execute(command)
    await harness.compare()


@pytest.mark.parametrize("size", ["tiny", "tall"])
def test_attention(size):
    run(size, "attention", stall=0.2)


@cocotb.test()
async def full_rate(dut):
    """One beat a cycle also over rows of one beat, and from command to command: a command of two
    beats is long enough to show the next one before it is offered."""
    harness = await harness_of(dut)
    two = Pass(rows=2, beats=1, valid=4, reduce=Reduce.MAX, sink=Sink.ACT, scalar=1)
    rows = Pass(rows=20, beats=1, valid=3, reduce=Reduce.SUM, row_write=32, source_row_stride=1,
                sink=Sink.ACT, sink_row_stride=1)
    watcher = cocotb.start_soon(beats(dut))
    for command in (two, two, rows, two, rows, rows):
        await harness.execute(command)
    await harness.drain()
    issued = watcher.result() if watcher.done() else []
    assert issued == [True] * (3 * 2 + 3 * 20), "a bubble between beats"
    ends = np.cumsum([2, 2, 20, 2, 20, 20])
    assert (np.diff(harness.retire_cycles) == np.diff(ends)).all()
    await harness.compare()


async def beats(dut) -> list[bool]:
    """Whether a beat was issued, from the first beat until the engine is not active any more."""
    issued: list[bool] = []
    while True:
        await cocotb.triggers.RisingEdge(dut.clk)
        if int(dut.engine__active.value):
            issued.append(not int(dut.engine__stall.value))
        elif issued:
            return issued


def test_full_rate():
    run("tiny", "full_rate")


@cocotb.test()
async def latencies(dut):
    """``retire`` comes with the last write, in order, and early where nothing is reduced."""
    harness = await harness_of(dut)
    plain = Pass(rows=1, beats=1, valid=4, sink=Sink.ACT)
    reducing = Pass(rows=1, beats=1, valid=4, reduce=Reduce.MAX)
    cycles = {}
    for name, commands in {"plain": [plain], "reducing": [reducing],
                           "mixed": [reducing, plain, plain]}.items():
        await harness.drain()
        harness.retire_cycles.clear()
        watcher = cocotb.start_soon(first_beat(harness))
        for command in commands:
            await harness.execute(command)
        await harness.drain()
        cycles[name] = [cycle - watcher.result() for cycle in harness.retire_cycles]
    late = harness.config.reduction_latency
    assert cycles == {"plain": [harness.config.pass_latency], "reducing": [late],
                      "mixed": [late, late + 2, late + 4]}


async def first_beat(harness: Harness) -> int:
    while True:
        await cocotb.triggers.ReadOnly()
        if int(harness.dut.engine__active.value):
            return harness.cycle + 1
        await cocotb.triggers.RisingEdge(harness.dut.clk)


@pytest.mark.parametrize(("scalar_cycles", "read_cycles", "port_cycles"),
                         [(6, 1, 0), (10, 1, 0), (10, 2, 1)])
def test_latencies(scalar_cycles, read_cycles, port_cycles):
    run("tiny", "latencies", scalar_cycles=scalar_cycles, read_cycles=read_cycles,
        port_cycles=port_cycles)


#: Commands at fault on the configuration ``tiny`` with one table, by what is wrong with them.
FAULTS = {
    "rows": (Pass(rows=0, beats=1), Cause.ZERO_LOOP),
    "beats": (Pass(rows=1, beats=0, addend=3), Cause.ZERO_LOOP),
    "addend": (Pass(rows=1, beats=1, addend=3), Cause.ILLEGAL),
    "scale": (Pass(rows=1, beats=1, scale=3), Cause.ILLEGAL),
    "function": (Pass(rows=1, beats=1, function=3), Cause.ILLEGAL),
    "combine": (Pass(rows=1, beats=1, combine=6), Cause.ILLEGAL),
    "reduce": (Pass(rows=1, beats=1, reduce=5), Cause.ILLEGAL),
    "scalar": (Pass(rows=1, beats=1, scalar=5), Cause.ILLEGAL),
    "output": (Pass(rows=1, beats=1, output=3), Cause.ILLEGAL),
    "sink": (Pass(rows=1, beats=1, sink=5), Cause.ILLEGAL),
    "slot": (Pass(rows=1, beats=1, table=1), Cause.ILLEGAL),
    "table": (Table(table=1), Cause.ILLEGAL),
    **{f"stream {mode.name}": (Pass(rows=1, beats=1, source=Source.VEC, combine=mode),
                               Cause.ILLEGAL)
       for mode in (Combine.ADD, Combine.MULTIPLY, Combine.ROTATE)},
    "source acc": (Pass(rows=2, beats=1, source_base=31, source_row_stride=1), Cause.ADDRESS),
    "source vec": (Pass(rows=1, beats=2, source=Source.VEC, source_base=255,
                        source_tile_stride=1), Cause.ADDRESS),
    "wrap around": (Pass(rows=3, beats=1, source_row_stride=32768), Cause.ADDRESS),
    "tile": (Pass(rows=1, beats=3, source_tile_stride=65535), Cause.ADDRESS),
    "const": (Pass(rows=1, beats=2, addend=Addend.COLUMN, const_base=31), Cause.ADDRESS),
    "row read": (Pass(rows=2, beats=1, row_scale=1, row_read=63), Cause.ADDRESS),
    "row write": (Pass(rows=2, beats=1, reduce=Reduce.MAX, row_write=63), Cause.ADDRESS),
    "stream": (Pass(rows=2, beats=1, combine=Combine.ADD, stream_base=200, stream_row_stride=56),
               Cause.ADDRESS),
    "sink act": (Pass(rows=1, beats=1, sink=Sink.ACT, sink_base=64), Cause.ADDRESS),
    "sink vec": (Pass(rows=1, beats=1, sink=Sink.VEC, sink_base=65535), Cause.ADDRESS),
    "sink rows": (Pass(rows=3, beats=1, sink=Sink.WGT_ROWS, sink_base=31, sink_row_stride=1,
                       position=2), Cause.ADDRESS),
    "sink lanes": (Pass(rows=1, beats=2, sink=Sink.WGT_LANES, sink_base=31, sink_tile_stride=1),
                   Cause.ADDRESS),
    "table source": (Table(source_base=225), Cause.ADDRESS),
}


@cocotb.test()
@cocotb.parametrize(fault=list(FAULTS))
async def faults(dut, fault):
    """The core is told the cause, what came before is finished, and nothing starts any more."""
    harness = await harness_of(dut)
    command, cause = FAULTS[fault]
    before = Pass(rows=2, beats=2, valid=6, sink=Sink.ACT, reduce=Reduce.SUM, source_row_stride=1,
                  sink_row_stride=1)
    await harness.execute(before)
    await harness.issue(command)
    dut.engine__command__payload.value = harness.engine_bits(before)
    dut.engine__command__valid.value = 1
    for _ in range(80):
        await cocotb.triggers.RisingEdge(dut.clk)
        if int(dut.engine__error.value):
            break
    assert int(dut.engine__error.value), "no error"
    assert int(dut.engine__cause.value) == cause
    dut.engine__halt.value = 1
    for _ in range(60):
        await cocotb.triggers.RisingEdge(dut.clk)
        assert not int(dut.acc__valid.value)
        assert not int(dut.engine__command__ready.value)
    assert np.array_equal(harness.act, harness.model.act), "the command at fault has written"
    assert harness.retired == 1, "the command before must retire, the one at fault must not"
    # After reset the unit works again.
    dut.engine__command__valid.value = dut.engine__halt.value = 0
    dut.rst.value = 1
    await cocotb.triggers.ClockCycles(dut.clk, 2)
    dut.rst.value = 0
    harness.started = harness.retired
    await harness.execute(before)
    await harness.drain()


def test_faults():
    run("tiny", "faults", tables=1)


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_those_of_the_model(fault):
    command, cause = FAULTS[fault]
    with pytest.raises(CommandFault) as caught:
        check(command, small_config("tiny", tables=1))
    assert caught.value.cause == cause


@cocotb.test()
async def halt(dut):
    """While ``halt`` is high nothing starts; what is in flight ends; afterwards all goes on."""
    harness = await harness_of(dut)
    rng = np.random.default_rng(3)

    async def disturb():
        while True:
            dut.engine__halt.value = int(rng.integers(2))
            await cocotb.triggers.ClockCycles(dut.clk, int(rng.integers(1, 12)))

    disturber = cocotb.start_soon(disturb())
    for command in random_commands(harness.config, harness.rng, 40):
        await harness.execute(command)
    disturber.cancel()
    dut.engine__halt.value = 0
    await harness.compare()


def test_halt():
    run("tiny", "halt", stall=0.2)


@cocotb.test()
async def shared_memories(dut):
    """Host and mover get right answers while the unit uses its memories, in free cycles."""
    harness = await harness_of(dut)
    config = harness.config
    stable = {region: harness.model.raw(region).tobytes() for region in (Region.VEC, Region.CONST)}

    async def read_on(region, size):
        for _ in range(4):
            assert await harness.read(region, 0, size) == stable[region][:size]

    # Vector memory changes from word 64 on only; constants do not change.
    readers = [cocotb.start_soon(read_on(Region.VEC, 64 * 2 * config.lanes)),
               cocotb.start_soon(read_on(Region.CONST, config.region_bytes(Region.CONST)))]
    work = Pass(rows=8, beats=4, valid=15, scale=Scale.COLUMN, combine=Combine.ADD, sink=Sink.VEC,
                output=Output.INT16, source_row_stride=1, stream_row_stride=3, sink_base=64,
                sink_row_stride=4, sink_tile_stride=1)
    while not all(reader.done() for reader in readers):
        await harness.execute(work)
    for reader in readers:
        reader.result()
    await harness.compare()


@pytest.mark.parametrize("size", ["tiny", "mid"])
def test_shared_memories(size):
    run(size, "shared_memories", stall=0.3)


def test_shared_late_memories():
    run("mid", "shared_memories", stall=0.3, read_cycles=2, port_cycles=1)


def test_rejects_config():
    with pytest.raises(TypeError, match=r"^config must be a Config, not 'tiny'$"):
        VectorUnit(config="tiny")

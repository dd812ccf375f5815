"""The mover with its external port: bytes, throughput, faults, flush."""
import random

import cocotb
import numpy as np
import pytest
from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from cocotb.triggers import ClockCycles, RisingEdge, with_timeout

from systolith.hw.bus import BusMaster
from systolith.hw.config import BEATS_IN_FLIGHT, OFFSET_BITS, Config, Region
from systolith.hw.external import ExternalPort, ExternalRequest
from systolith.hw.interfaces import EnginePort
from systolith.hw.isa import Cause, Load, Notify, Send, Store
from systolith.hw.move_walk import STORED, mover_layout
from systolith.hw.mover import Mover
from systolith.sw.reference.addressing import CommandFault, check, move_beats
from tests.bench import Stream, parameters, reset, simulate
from tests.hw.models import BusMemory, ExternalMemory

CONFIGS = {
    4: Config(name="m4", rows=4, cols=4, lanes=2, act_depth=256, wgt_depth=64, vec_depth=256,
              const_depth=32, acc_depth=64, row_depth=16, bus_bytes=4, ext_bytes=4096),
    16: Config(name="m16", rows=16, cols=16, lanes=8, act_depth=64, wgt_depth=16, vec_depth=64,
               const_depth=32, acc_depth=16, row_depth=16, bus_bytes=16, ext_bytes=4096),
}


class MoverAndPort(wiring.Component):
    """A mover and its external port; `more` are members beside theirs."""

    def __init__(self, *, config, more=None):
        self._config = config
        beat = stream.Signature(8 * config.bus_bytes)
        super().__init__({
            "port": In(EnginePort(mover_layout())),
            "bus": Out(BusMaster(bus_bytes=config.bus_bytes)),
            "request": Out(stream.Signature(ExternalRequest())), "write": Out(beat),
            "read": In(beat), "flush": In(1), "moved": Out(1),
            **(more or {}),
        })

    def elaborate(self, platform):
        m = Module()
        self.mover = mover = Mover(config=self._config)
        m.submodules.mover = ResetInserter(self.flush)(mover)
        m.submodules.external = external = ExternalPort(bus_bytes=self._config.bus_bytes,
                                                        outstanding=BEATS_IN_FLIGHT)
        connect(m, flipped(self.port), mover.port)
        connect(m, mover.bus, flipped(self.bus))
        connect(m, mover.access, external.access)
        connect(m, external.request, flipped(self.request))
        connect(m, external.write, flipped(self.write))
        connect(m, flipped(self.read), external.read)
        m.d.comb += [mover.answer.eq(external.answer), mover.answered.eq(external.answered),
                     mover.written.eq(external.written), external.flush.eq(self.flush),
                     self.moved.eq(mover.moved)]
        return m


class Bench:
    """The device under test, its memories, and their model."""

    def __init__(self, dut, *, latency=4, stall=0.0, seed=1):
        self.dut, self.config = dut, CONFIGS[parameters()["bus_bytes"]]
        rng = np.random.default_rng(seed)
        self.content = {int(region): bytearray(rng.bytes(self.config.region_bytes(region)))
                        for region in STORED}
        self.ext = bytearray(rng.bytes(self.config.ext_bytes))
        width = self.config.bus_bytes
        self.bus = BusMemory(dut, "bus", self.content, bus_bytes=width, stall=stall, seed=seed)
        self.memory = ExternalMemory(dut, self.ext, bus_bytes=width, latency=latency, stall=stall,
                                     seed=seed + 1)
        self.commands = Stream(dut, "port__command", shape=mover_layout())
        self.retired = self.cycles = self.moved = self.stalled = 0

    async def start(self):
        self.dut.flush.value = self.dut.port__halt.value = 0
        await reset(self.dut, sources=[self.commands])
        for coroutine in (self.bus.run(), self.memory.run(), self._watch()):
            cocotb.start_soon(coroutine)

    async def _watch(self):
        while True:
            await RisingEdge(self.dut.clk)
            self.retired += int(self.dut.port__retire.value)
            self.moved += int(self.dut.moved.value)
            active = bool(self.dut.port__active.value)
            self.cycles += active
            self.stalled += active and bool(self.dut.port__stall.value)

    async def move(self, commands, *, stall=0.0):
        """Give all commands, wait until they have retired."""
        target = self.retired + len(commands)
        await self.commands.send([payload(command) for command in commands], stall=stall)
        while self.retired < target:
            await RisingEdge(self.dut.clk)

    def model(self, command):
        """Copy the same bytes in Python."""
        region, width = self.content[command.region], self.config.bus_bytes
        for outside, inside in zip(*(a.ravel() for a in move_beats(command, self.config)),
                                   strict=True):
            if isinstance(command, Load):
                region[inside:inside + width] = self.ext[outside:outside + width]
            else:
                self.ext[outside:outside + width] = region[inside:inside + width]

    def snapshot(self):
        return {region: bytes(content) for region, content in self.content.items()}, bytes(self.ext)


def payload(command):
    """The bits of a command in the places of a load's fields, and of a send's."""
    words = command.encode()
    fields = {kind: {name: words[word] >> lsb & (1 << width) - 1
                     for name, word, lsb, width, _, _ in kind.layout()
                     if name not in ("opcode", "fence", "wait", "signal")} for kind in (Load, Send)}
    return {"opcode": command.OPCODE, "load": fields[Load], "send": fields[Send]}


def random_move(rng, config):
    """A legal move, of any direction and region."""
    kind = rng.choice([Load, Store])
    width, beat = config.bus_bytes, rng.randrange
    while True:
        region = Region(rng.choice(STORED))
        command = kind(region=region, rows=1 + beat(6), row_bytes=width * (1 + beat(8)),
                       ext_base=width * beat(200), ext_stride=width * beat(20),
                       base=width * beat(40), stride=width * beat(10))
        try:
            check(command, config)
        except CommandFault:
            continue
        return command


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(stall=[0, 0.3, 0.7], latency=[1, 12])
async def moves_what_the_model_moves(dut, stall, latency):
    bench, model = Bench(dut, latency=latency, stall=stall), Bench(dut, latency=1)
    await bench.start()
    rng = random.Random(latency)
    for _ in range(6):
        commands = [random_move(rng, bench.config) for _ in range(5)]
        await bench.move(commands, stall=stall)
        for command in commands:
            model.model(command)
        assert bench.snapshot() == model.snapshot()
    assert bench.memory.idle


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(kind=[Load, Store], latency=[1, 30])
async def moves_one_beat_a_cycle(dut, kind, latency):
    bench = Bench(dut, latency=latency)
    await bench.start()
    width = bench.config.bus_bytes
    commands = [kind(region=Region.ACT, rows=4, row_bytes=16 * width, stride=16 * width,
                     ext_base=1024 * i, ext_stride=16 * width) for i in range(3)]
    await bench.move(commands)
    beats = 3 * 4 * 16
    assert bench.moved == beats
    # The latency counts once; commands follow each other without a gap.
    assert bench.cycles <= beats + latency + 10
    assert bench.cycles - bench.stalled == beats


@cocotb.test(timeout_time=20, timeout_unit="us")
@cocotb.parametrize(case=list(range(14)))
async def a_bad_command_is_an_error_and_moves_nothing(dut, case):
    bench = Bench(dut)
    await bench.start()
    width, config = bench.config.bus_bytes, bench.config
    good = {"region": Region.ACT, "rows": 1, "row_bytes": width}
    kind, values, cause = [
        (Load, {"rows": 0}, Cause.ZERO_LOOP), (Store, {"row_bytes": 0}, Cause.ZERO_LOOP),
        (Load, {"region": Region.ACC}, Cause.ILLEGAL),
        (Load, {"region": Region.ROW}, Cause.ILLEGAL),
        (Store, {"region": Region.QUEUES}, Cause.ILLEGAL),
        (Load, {"row_bytes": width - 1}, Cause.ILLEGAL), (Load, {"ext_stride": 2}, Cause.ILLEGAL),
        (Store, {"stride": 1}, Cause.ILLEGAL),
        (Load, {"base": config.region_bytes(Region.ACT)}, Cause.ADDRESS),
        (Load, {"ext_base": config.ext_bytes}, Cause.ADDRESS),
        (Store, {"ext_base": (1 << 32) - width}, Cause.ADDRESS),
        # A core alone has no mesh.
        (Send, {"rows": 0}, Cause.ZERO_LOOP), (Send, {}, Cause.ILLEGAL),
        (Notify, {"rows": 0}, Cause.ILLEGAL),
    ][case]
    before = bench.snapshot()
    await bench.commands.send([payload(kind(**good | values))])
    await ClockCycles(dut.clk, 3)
    assert dut.port__error.value
    assert int(dut.port__cause.value) == cause
    await ClockCycles(dut.clk, 60)
    assert bench.snapshot() == before
    assert (bench.retired, bench.moved) == (0, 0)


@cocotb.test(timeout_time=20, timeout_unit="us")
async def addresses_do_not_wrap(dut):
    bench = Bench(dut)
    await bench.start()
    width, top = bench.config.bus_bytes, (1 << OFFSET_BITS) - bench.config.bus_bytes
    # The second run would begin at 0 again.
    command = Load(region=Region.ACT, rows=2, row_bytes=width, base=width, stride=top)
    await bench.commands.send([payload(command)])
    while not dut.port__error.value:
        await RisingEdge(dut.clk)
    assert int(dut.port__cause.value) == Cause.ADDRESS


@cocotb.test(timeout_time=50, timeout_unit="us")
async def halt_stops_the_issue_and_what_is_under_way_ends(dut):
    bench = Bench(dut, latency=10)
    await bench.start()
    width = bench.config.bus_bytes
    cocotb.start_soon(bench.move([Load(region=Region.ACT, rows=1, row_bytes=40 * width)]))
    await ClockCycles(dut.clk, 20)
    dut.port__halt.value = 1
    await ClockCycles(dut.clk, 40)
    moved = bench.moved
    assert 0 < moved < 40
    assert bench.memory.idle
    await ClockCycles(dut.clk, 20)
    assert bench.moved == moved
    dut.port__halt.value = 0
    while bench.retired == 0:
        await RisingEdge(dut.clk)
    assert bench.moved == 40


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(kind=[Load, Store], stall=[0, 0.6])
async def after_a_flush_nothing_is_left(dut, kind, stall):
    width = CONFIGS[parameters()["bus_bytes"]].bus_bytes
    bench = Bench(dut, latency=15, stall=stall)
    await bench.start()
    for delay in range(2, 60, 3):
        task = cocotb.start_soon(bench.move(
            [kind(region=Region.VEC, rows=4, row_bytes=20 * width, stride=20 * width,
                  ext_stride=20 * width)]))
        await ClockCycles(dut.clk, delay)
        task.cancel()
        dut.port__command__valid.value = 0
        dut.flush.value = 1
        await ClockCycles(dut.clk, 1)
        dut.flush.value = 0
        # Now a load and a store whose bytes are known.
        bench.content[Region.ACT][:] = bytes(len(bench.content[Region.ACT]))
        await with_timeout(bench.move([
            Load(region=Region.ACT, rows=1, row_bytes=6 * width, ext_base=2048),
            Store(region=Region.ACT, rows=1, row_bytes=8 * width, ext_base=3072)]), 20, "us")
        expected = bytes(bench.ext[2048:2048 + 6 * width]) + bytes(2 * width)
        assert bytes(bench.content[Region.ACT][:8 * width]) == expected
        assert bytes(bench.ext[3072:3072 + 8 * width]) == expected
        assert bench.memory.idle


@pytest.mark.parametrize("bus_bytes", CONFIGS)
def test_mover(bus_bytes):
    simulate(MoverAndPort(config=CONFIGS[bus_bytes]), f"mover{bus_bytes}", __name__,
             parameters={"bus_bytes": bus_bytes})

"""The mover of a core on a mesh: what it sends, in which order, how fast, and what it refuses."""
import random

import cocotb
import numpy as np
import pytest
from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import Out, connect, flipped
from cocotb.triggers import ClockCycles, RisingEdge

from systolith.hw.config import Region
from systolith.hw.isa import Load, Notify, Send, Store
from systolith.hw.mesh.interface import RemoteBeat
from systolith.sw.reference.addressing import (
    RECEIVABLE,
    SENDABLE,
    CommandFault,
    check,
    send_beats,
)
from tests.bench import Stream, parameters, simulate
from tests.hw import test_mover
from tests.hw.test_mover import Bench, MoverAndPort, payload, random_move

CONFIGS = {width: config.replace(mesh_width=3, mesh_height=2)
           for width, config in test_mover.CONFIGS.items()}
AXES = ("x_first", "x_last", "y_first", "y_last")


class RemoteMover(MoverAndPort):
    """As that, with the way to other cores."""

    def __init__(self, *, config):
        super().__init__(config=config, more={
            "remote": Out(stream.Signature(RemoteBeat(bus_bytes=config.bus_bytes)))})

    def elaborate(self, platform):
        m = super().elaborate(platform)
        connect(m, self.mover.remote, flipped(self.remote))
        return m


class RemoteBench(Bench):
    """Keeps what goes to other cores, and at the retirement of which command it came."""

    def __init__(self, dut, *, stall=0.0, **options):
        super().__init__(dut, stall=stall, **options)
        self.config = CONFIGS[parameters()["bus_bytes"]]
        rng = np.random.default_rng(5)
        self.content[int(Region.ROW)] = bytearray(
            rng.bytes(self.config.region_bytes(Region.ROW)))
        self._far = Stream(dut, "remote", shape=RemoteBeat(bus_bytes=self.config.bus_bytes))
        self._far.idle(source=False)
        self._stalled, self.beats = stall, []

    async def start(self):
        await super().start()
        cocotb.start_soon(self._receive())

    async def _receive(self):
        while True:
            self.beats += [(self.retired, beat) for beat in
                           await self._far.receive(1, stall=self._stalled)]

    def expected(self, command):
        """The beats of a command as (region, target, signal, notify, address, last, data)."""
        target = tuple(getattr(command, axis) for axis in AXES)
        if isinstance(command, Notify):
            return [(target, command.remote_signal, 1, None, None, 1, None)]
        own, width = self.content[command.region], self.config.bus_bytes
        pairs = list(zip(*(a.ravel().tolist() for a in send_beats(command, self.config)),
                         strict=True))
        return [(target, command.remote_signal, 0, command.remote_region, there,
                 int((there, here) == pairs[-1] and number == len(pairs) - 1),
                 int.from_bytes(own[here:here + width], "little"))
                for number, (there, here) in enumerate(pairs)]


def seen(beat):
    remote = beat.remote
    target = tuple(getattr(remote.target, axis) for axis in AXES)
    if remote.notify:
        return target, remote.signal, 1, None, None, beat.last, None
    return target, remote.signal, 0, remote.region, beat.address, beat.last, beat.data


def random_command(rng, config):
    """A legal one of any kind."""
    if rng.random() < 0.4:
        return random_move(rng, config)
    width, beat = config.bus_bytes, rng.randrange
    x, y = (sorted((beat(size), beat(size))) for size in (config.mesh_width, config.mesh_height))
    target = dict(zip(AXES, (*x, *y), strict=True)) | {"remote_signal": beat(1 << 16)}
    if rng.random() < 0.3:
        # Fields of data are ignored.
        return Notify(**target, region=beat(8), base=beat(1 << 22), remote_base=beat(1 << 22))
    while True:
        command = Send(**target, region=rng.choice(SENDABLE), remote_region=rng.choice(RECEIVABLE),
                       rows=1 + beat(6), row_bytes=width * (1 + beat(6)), base=width * beat(20),
                       stride=width * beat(6), remote_base=width * beat(20),
                       remote_stride=width * beat(6))
        try:
            check(command, config)
        except CommandFault:
            continue
        return command


@cocotb.test(timeout_time=4, timeout_unit="ms")
@cocotb.parametrize(stall=[0, 0.3, 0.7], latency=[1, 12])
async def sends_and_moves_in_order(dut, stall, latency):
    bench = RemoteBench(dut, latency=latency, stall=stall)
    await bench.start()
    rng = random.Random(latency)
    for _ in range(20):
        command = random_command(rng, bench.config)
        sent = len(bench.beats)
        remote = not isinstance(command, Load | Store)
        expected = bench.expected(command) if remote else []
        await bench.move([command], stall=stall)
        assert [seen(beat) for _, beat in bench.beats[sent:]] == expected


@cocotb.test(timeout_time=4, timeout_unit="ms")
@cocotb.parametrize(stall=[0, 0.5])
async def commands_retire_in_order(dut, stall):
    """Each beat comes when exactly the commands before its own have retired, or are about to."""
    bench = RemoteBench(dut, latency=9, stall=stall)
    await bench.start()
    rng = random.Random(7)
    # Data are not compared here: sends and loads in a row touch the same bytes.
    commands = [random_command(rng, bench.config) for _ in range(60)]
    places = [place for place, command in enumerate(commands)
              for _ in (bench.expected(command) if isinstance(command, Send | Notify) else [])]
    await bench.move(commands, stall=stall)
    assert len(bench.beats) == len(places)
    for (retired, _), place in zip(bench.beats, places, strict=True):
        # Retiring takes a cycle after the last beat, and seeing it another one.
        assert place - 2 <= retired <= place


@cocotb.test(timeout_time=200, timeout_unit="us")
async def sends_one_beat_a_cycle(dut):
    bench = RemoteBench(dut)
    await bench.start()
    width = bench.config.bus_bytes
    commands = [Send(region=Region.ACT, remote_region=Region.ACT, rows=4, row_bytes=8 * width,
                     stride=8 * width, remote_stride=8 * width, x_first=i, x_last=i,
                     remote_signal=1) for i in range(3)]
    await bench.move(commands)
    assert bench.moved == 3 * 4 * 8
    assert bench.cycles <= bench.moved + 14


@cocotb.test(timeout_time=200, timeout_unit="us")
async def a_notify_moves_nothing(dut):
    bench = RemoteBench(dut)
    await bench.start()
    await bench.move([Notify(remote_signal=5)] * 3)
    assert (bench.moved, len(bench.beats)) == (0, 3)


def bad_commands(config):
    width = config.bus_bytes
    good = {"region": Region.ACT, "remote_region": Region.ACT, "rows": 1, "row_bytes": width}
    changes = [
        {"rows": 0}, {"row_bytes": 0}, {"region": Region.QUEUES}, {"remote_region": Region.ACC},
        {"remote_region": Region.REGISTERS}, {"row_bytes": width + 1}, {"remote_base": 1},
        {"remote_stride": 2}, {"base": 3}, {"stride": 1}, {"x_last": 3}, {"y_first": 1},
        {"base": config.region_bytes(Region.ACT)},
        {"remote_region": Region.ROW, "remote_base": config.region_bytes(Region.ROW)},
    ]
    return [*(Send(**good | change) for change in changes), Notify(y_last=2), Notify(x_first=1)]


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(case=list(range(16)))
async def a_bad_command_has_the_cause_of_the_reference(dut, case):
    bench = RemoteBench(dut)
    await bench.start()
    command = bad_commands(bench.config)[case]
    with pytest.raises(CommandFault) as fault:
        check(command, bench.config)
    await bench.commands.send([payload(command)])
    await ClockCycles(dut.clk, 3)
    assert dut.port__error.value
    assert int(dut.port__cause.value) == fault.value.cause
    await ClockCycles(dut.clk, 40)
    assert (bench.retired, bench.moved, bench.beats) == (0, 0, [])


@cocotb.test(timeout_time=200, timeout_unit="us")
async def beats_before_the_end_are_sent(dut):
    bench = RemoteBench(dut)
    await bench.start()
    width = bench.config.bus_bytes
    end = bench.config.region_bytes(Region.ROW)
    command = Send(region=Region.ACT, remote_region=Region.ROW, rows=1, row_bytes=4 * width,
                   remote_base=end - 2 * width)
    await bench.commands.send([payload(command)])
    while not dut.port__error.value:
        await RisingEdge(dut.clk)
    await ClockCycles(dut.clk, 20)
    assert [beat.address for _, beat in bench.beats] == [end - 2 * width, end - width]


@pytest.mark.parametrize("bus_bytes", CONFIGS)
def test_mover_remote(bus_bytes):
    simulate(RemoteMover(config=CONFIGS[bus_bytes]), f"mover_remote{bus_bytes}", __name__,
             parameters={"bus_bytes": bus_bytes})

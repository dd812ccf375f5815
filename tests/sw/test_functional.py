"""The functional device: order by semaphores, bad commands, and the loops of a product."""
import numpy as np
import pytest

from systolith.hw.config import Region
from systolith.hw.configs import get_config
from systolith.hw.isa import (
    ENGINES,
    Addend,
    Cause,
    Combine,
    Engine,
    Load,
    Pass,
    Product,
    Reduce,
    Sink,
    Source,
    Store,
    Table,
)
from systolith.sw.reference import numerics
from systolith.sw.runtime.device import DeviceError, StuckError
from systolith.sw.runtime.functional import FunctionalDevice, compare_memories

CONFIG = get_config("tall")


@pytest.fixture
def device():
    """A device whose loadable memories hold random bytes."""
    device, rng = FunctionalDevice(CONFIG), np.random.default_rng(1)
    for memory in (Region.ACT, Region.WGT, Region.VEC, Region.CONST):
        device.write(memory, 0, rng.bytes(device.size(memory)))
    return device


def run(device, *commands):
    queues = {}
    for command in commands:
        queues.setdefault(command.ENGINE, []).append(command)
    device.run(queues)
    return device.wait()


def operands(device, m, k, n, *, unsigned=False):
    left = device.memories.act.view(np.uint8 if unsigned else np.int8)[:m * k].astype(np.int64)
    right = device.memories.wgt.view(np.int8)[:n * k].astype(np.int64)
    return (left.reshape(m, k * CONFIG.rows),
            right.reshape(n, k * CONFIG.rows, CONFIG.cols))


LOOPS = {"act": {"m": 3, "k": 1, "n": 0}, "wgt": {"m": 0, "k": 1, "n": 3},
         "acc": {"m": 2, "k": 0, "n": 1}}
COUNTS = {"m": 5, "k": 3, "n": 2}


def product(order, **fields):
    """A 5 x (3 tiles) x (2 tiles) product whose loops nest as ``order`` says, innermost first."""
    for loop, kind in enumerate(order):
        fields[f"count{loop}"] = COUNTS[kind]
        for memory, strides in LOOPS.items():
            fields[f"{memory}{loop}_stride"] = strides[kind]
    return Product(**fields)


@pytest.mark.parametrize("order", ["kmn", "knm", "mkn", "mnk", "nkm", "nmk"])
@pytest.mark.parametrize("unsigned", [False, True])
def test_product_in_every_loop_order(device, order, unsigned):
    run(device, product(order, left_unsigned=unsigned))
    left, right = operands(device, 5, 3, 2, unsigned=unsigned)
    expected = np.stack([left @ tile for tile in right], axis=1)
    assert np.array_equal(device.memories.acc[:10].reshape(5, 2, -1), expected)


def test_accumulate_adds_and_wraps(device):
    device.memories.acc[:] = (1 << 31) - 1
    run(device, product("kmn", accumulate=1))
    left, right = operands(device, 5, 3, 2)
    expected = np.stack([left @ tile for tile in right], axis=1) + (1 << 31) - 1
    assert np.array_equal(device.memories.acc[:10].reshape(5, 2, -1), numerics.wrap32(expected))


def test_outputs_that_share_an_accumulator_keep_the_last(device):
    """Loop 1 moves by a word and loop 2 by a word: beats collide, the order of beats decides."""
    command = Product(count0=1, count1=2, count2=2, act1_stride=1, wgt2_stride=1,
                      acc1_stride=1, acc2_stride=1)
    run(device, command)
    left = device.memories.act.view(np.int8)[:2].astype(int)
    right = device.memories.wgt.view(np.int8)[:2].astype(int)
    expected = [left[0] @ right[0], left[0] @ right[1], left[1] @ right[1]]
    assert np.array_equal(device.memories.acc[:3], expected)


def test_semaphores_order_the_engines(device):
    """The pass is first in program order, but waits for product and load."""
    device.write("ext", 0, bytes(range(64)))
    load = Load(region=Region.ACT, rows=1, row_bytes=64, signal=1)
    product_ = Product(count0=1, count1=8, count2=1, act1_stride=1, acc1_stride=1, wait=1, signal=2)
    pass_ = Pass(rows=8, beats=2, valid=4, source_row_stride=1, reduce=Reduce.MAX, wait=2)
    counters = run(device, pass_, product_, load)
    act = np.arange(64).reshape(8, 8)
    sums = act @ device.memories.wgt.view(np.int8)[0].astype(int)
    assert np.array_equal(device.memories.row[:8].view("<i4"), sums.max(axis=1))
    assert counters.move_bytes == 64
    assert [counters.engines[engine].commands for engine in ENGINES] == [1] * 3


def test_a_deadlock_names_who_waits_for_what(device):
    with pytest.raises(StuckError) as error:
        run(device, Product(count0=1, count1=1, count2=1, wait=5))
    assert str(error.value) == (
        "no engine can go on: MOVE has finished; MATRIX command 0 waits for semaphore 0, 2; "
        "VECTOR has finished")


BAD = [
    (Product(count0=1, count1=0, count2=1), Cause.ZERO_LOOP),
    (Product(count0=1, count1=1, count2=1, act_base=CONFIG.act_depth), Cause.ADDRESS),
    (Product(count0=1, count1=1, count2=1, wgt_base=CONFIG.wgt_depth), Cause.ADDRESS),
    (Product(count0=2, count1=1, count2=1, acc_base=CONFIG.acc_depth - 1, acc0_stride=1),
     Cause.ADDRESS),
    (Pass(rows=0, beats=1), Cause.ZERO_LOOP),
    (Pass(rows=1, beats=1, addend=3), Cause.ILLEGAL),
    (Pass(rows=1, beats=1, source=Source.VEC, combine=Combine.ADD), Cause.ILLEGAL),
    (Pass(rows=2, beats=1, addend=Addend.ROW, row_read=CONFIG.row_depth - 1), Cause.ADDRESS),
    (Pass(rows=1, beats=1, sink=Sink.ACT, sink_base=CONFIG.act_depth), Cause.ADDRESS),
    (Pass(rows=9, beats=1, sink=Sink.WGT_ROWS, sink_base=CONFIG.wgt_depth - 1, sink_row_stride=1),
     Cause.ADDRESS),
    (Table(source_base=CONFIG.vec_depth - 1), Cause.ADDRESS),
    (Load(region=Region.ROW, rows=1, row_bytes=4), Cause.ILLEGAL),
    (Load(region=Region.ACC, rows=1, row_bytes=4), Cause.ILLEGAL),
    (Load(region=Region.ACT, rows=1, row_bytes=6), Cause.ILLEGAL),
    (Load(region=Region.ACT, rows=1, row_bytes=0), Cause.ZERO_LOOP),
    (Store(region=Region.ACT, rows=1, row_bytes=8, ext_base=CONFIG.ext_bytes), Cause.ADDRESS),
]


@pytest.mark.parametrize(("command", "cause"), BAD, ids=[f"{c.OPCODE.name}-{i}" for i, (c, _) in
                                                         enumerate(BAD)])
def test_bad_commands_stop_the_core_until_reset(device, command, cause):
    good = {Engine.MOVE: Load(region=Region.ACT, rows=1, row_bytes=4),
            Engine.MATRIX: Product(count0=1, count1=1, count2=1),
            Engine.VECTOR: Pass(rows=1, beats=1)}[command.ENGINE]
    with pytest.raises(DeviceError) as error:
        run(device, good, command)
    assert (error.value.engine, error.value.cause, error.value.index) == (command.ENGINE, cause, 1)
    with pytest.raises(DeviceError):
        device.wait()
    device.reset()
    assert run(device, good).engines[good.ENGINE].commands == 1


def test_an_unknown_opcode_stops_the_core(device):
    device.run_words({Engine.MATRIX: [0] * 9})
    with pytest.raises(DeviceError, match="MATRIX command 0: UNKNOWN_OPCODE"):
        device.wait()


def test_a_semaphore_overflow_stops_the_core(device):
    commands = [Product(count0=1, count1=1, count2=1, signal=8)] * 256
    with pytest.raises(DeviceError, match="MATRIX command 255: SEMAPHORE_OVERFLOW"):
        run(device, *commands)


def test_table_and_store(device):
    values = np.arange(-64, 64, dtype="<i2")
    device.write(Region.VEC, 0, values.tobytes())
    run(device, Table(table=1), Store(region=Region.VEC, rows=2, row_bytes=8, stride=16,
                                      ext_base=4, ext_stride=8))
    assert np.array_equal(device.memories.tables[1].ravel(), values)
    assert device.read("ext", 4, 16) == values[:4].tobytes() + values[8:12].tobytes()


@pytest.mark.parametrize(("offset", "size", "message"), [
    (2, 4, "offset 2 and size 4 in ROW must be multiples of 4"),
    (4096, 4, "bytes 4096 to 4100 leave ROW, which has 4096"),
    (-4, 4, "bytes -4 to 0 leave ROW, which has 4096"),
])
def test_host_ranges(device, offset, size, message):
    with pytest.raises(ValueError, match="ROW") as error:
        device.read(Region.ROW, offset, size)
    assert str(error.value) == message


def test_compare_memories_names_the_difference(device):
    other = FunctionalDevice(CONFIG)
    for memory in (Region.ACT, Region.WGT, Region.VEC, Region.CONST):
        other.write(memory, 0, device.read(memory, 0, device.size(memory)))
    assert compare_memories(device, other) == []
    other.memories.acc[3, 0] += 1
    assert compare_memories(device, other) == ["ACC"]

"""The whole core on small command streams: bytes equal to the functional device, and every way to
stop it."""
import dataclasses

import pytest

from systolith.hw.config import Region
from systolith.hw.configs import get_config
from systolith.hw.isa import (
    WORDS,
    Cause,
    Control,
    Counter,
    Engine,
    Load,
    Pass,
    Product,
    Register,
    Store,
    Table,
    counter_offset,
    status_field,
)
from systolith.sim.rtl import RtlDevice
from systolith.sw.estimate import ExternalMemory
from systolith.sw.runtime.device import DeviceError, StuckError
from systolith.sw.runtime.functional import FunctionalDevice, compare_memories
from tests.hw.programs import EXT_USED, chain, fill

#: Deep enough for the tests, and no deeper, because whole memories are compared.
SMALL = get_config("tiny").replace(
    name="small", act_depth=2048, wgt_depth=512, acc_depth=512, vec_depth=1024, const_depth=256,
    row_depth=512, queue_depth=64, ext_bytes=1 << 17)
TALL = get_config("tall").replace(
    name="small tall", act_depth=1024, wgt_depth=256, acc_depth=512, vec_depth=2048,
    const_depth=512, row_depth=512, queue_depth=32, semaphores=6, ext_bytes=1 << 17)
LIMIT = 50_000


@pytest.fixture(scope="module")
def rtl():
    with RtlDevice(SMALL) as device:
        yield device


@pytest.fixture
def device(rtl):
    rtl.reset()
    return rtl


def assert_same(rtl, functional):
    assert compare_memories(rtl, functional) == []
    assert rtl.read("ext", 0, EXT_USED) == functional.read("ext", 0, EXT_USED)


@pytest.mark.parametrize("config", [SMALL, TALL], ids=lambda config: config.name)
@pytest.mark.parametrize(("latency", "stall"), [(1, 0), (8, 0), (40, 0), (8, 30), (3, 80)])
def test_same_bytes_as_the_functional_device(config, latency, stall):
    functional = FunctionalDevice(config)
    external = ExternalMemory(latency=latency)
    with RtlDevice(config, external=external, stall_percent=stall, seed=latency) as device:
        fill(device, functional, seed=stall)
        for chip in (device, functional):
            chip.run(chain(config))
        counters, expected = device.wait(LIMIT), functional.wait()
        assert_same(device, functional)
        assert counters.move_bytes == expected.move_bytes
        for engine, counted in counters.engines.items():
            assert counted.commands == expected.engines[engine].commands
            assert sum(dataclasses.astuple(counted)[:4]) <= counters.cycles
        assert counters.engines[Engine.MATRIX].busy == expected.engines[Engine.MATRIX].busy
        assert counters.engines[Engine.VECTOR].busy == expected.engines[Engine.VECTOR].busy


def test_runs_go_on_after_each_other_and_need_no_reset(device):
    functional = FunctionalDevice(SMALL)
    fill(device, functional, seed=4)
    for repeat in (1, 2):
        for chip in (device, functional):
            chip.run(chain(SMALL, repeat=repeat))
            chip.reset() if repeat == 0 else chip.wait(LIMIT)
            # The last round's signal is left over; the next run's first load does not wait for it.
            assert chip.counters().engines[Engine.MATRIX].commands == repeat
    assert_same(device, functional)
    assert device.semaphores()[3] == 2


def test_more_words_than_a_queue_holds(device):
    functional = FunctionalDevice(SMALL)
    fill(device, functional, seed=5)
    for chip in (device, functional):
        chip.run(chain(SMALL, repeat=20))
        chip.wait(LIMIT)
    assert_same(device, functional)


def test_identity(device):
    assert device.read_register(Register.ID) == SMALL.identity
    assert device.read_register(Register.VERSION) == 1


PRODUCT = Product(count0=2, count1=1, count2=1, act0_stride=1, acc0_stride=1)
PASS = Pass(rows=1, beats=1, valid=4)
LOAD = Load(region=Region.ACT, rows=1, row_bytes=16)
GOOD = {Engine.MOVE: LOAD, Engine.MATRIX: PRODUCT, Engine.VECTOR: PASS}


def changed(command, **values):
    return dataclasses.replace(command, **values)


def move(kind, region, config=SMALL, **values):
    """A move of two runs whose last run begins just past the end of the region."""
    return kind(**{"region": region, "rows": 2, "row_bytes": 4,
                   "base": config.region_bytes(region) - 4, "stride": 4, "ext_stride": 4} | values)


BAD = {
    "zero count0": (changed(PRODUCT, count0=0), Cause.ZERO_LOOP),
    "zero count1": (changed(PRODUCT, count1=0), Cause.ZERO_LOOP),
    "zero count2": (changed(PRODUCT, count2=0), Cause.ZERO_LOOP),
    "zero rows of a pass": (changed(PASS, rows=0), Cause.ZERO_LOOP),
    "zero beats of a pass": (changed(PASS, beats=0), Cause.ZERO_LOOP),
    "zero rows of a load": (changed(LOAD, rows=0), Cause.ZERO_LOOP),
    "zero bytes of a load": (changed(LOAD, row_bytes=0), Cause.ZERO_LOOP),
    "product past act": (changed(PRODUCT, act_base=SMALL.act_depth - 1), Cause.ADDRESS),
    "product past wgt": (changed(PRODUCT, wgt_base=SMALL.wgt_depth), Cause.ADDRESS),
    "product past acc": (changed(PRODUCT, acc_base=SMALL.acc_depth - 1), Cause.ADDRESS),
    "product past act by far": (changed(PRODUCT, act_base=0xFFFF, act0_stride=0xFFFF),
                                Cause.ADDRESS),
    "pass past acc": (changed(PASS, source_base=SMALL.acc_depth), Cause.ADDRESS),
    "pass past vec": (changed(PASS, source=1, source_base=SMALL.vec_depth), Cause.ADDRESS),
    "pass past the stream": (changed(PASS, combine=1, stream_base=SMALL.vec_depth), Cause.ADDRESS),
    "pass past const": (changed(PASS, scale=2, const_base=SMALL.const_depth), Cause.ADDRESS),
    "pass past row": (changed(PASS, row_scale=1, row_read=SMALL.row_depth), Cause.ADDRESS),
    "pass past row, writing": (changed(PASS, reduce=1, row_write=SMALL.row_depth), Cause.ADDRESS),
    "pass past act": (changed(PASS, sink=1, sink_base=SMALL.act_depth), Cause.ADDRESS),
    "pass past wgt by rows": (changed(PASS, sink=2, sink_base=SMALL.wgt_depth), Cause.ADDRESS),
    "pass past wgt by lanes": (changed(PASS, sink=3, sink_base=SMALL.wgt_depth), Cause.ADDRESS),
    "pass past vec, writing": (changed(PASS, sink=4, sink_base=SMALL.vec_depth), Cause.ADDRESS),
    "pass with an unknown sink": (changed(PASS, sink=7), Cause.ILLEGAL),
    "pass with two reads of vec": (changed(PASS, source=1, combine=1), Cause.ILLEGAL),
    "table past vec": (Table(source_base=SMALL.vec_depth - 1), Cause.ADDRESS),
    **{f"{kind.__name__.lower()} past {region.name.lower()}": (move(kind, region), Cause.ADDRESS)
       for kind in (Load, Store)
       for region in (Region.ACT, Region.WGT, Region.VEC, Region.CONST)},
    "store past acc": (move(Store, Region.ACC), Cause.ADDRESS),
    "load past ext": (changed(LOAD, ext_base=SMALL.ext_bytes - 12), Cause.ADDRESS),
    "store past ext": (Store(region=Region.ACT, rows=2, row_bytes=4, ext_stride=0xFFFFFFFC),
                       Cause.ADDRESS),
    "load into acc": (changed(LOAD, region=Region.ACC), Cause.ILLEGAL),
    "load into row": (changed(LOAD, region=Region.ROW), Cause.ILLEGAL),
    "store of registers": (Store(region=Region.REGISTERS, rows=1, row_bytes=4), Cause.ILLEGAL),
    "misaligned load": (changed(LOAD, base=2), Cause.ILLEGAL),
    "misaligned length": (changed(LOAD, row_bytes=6), Cause.ILLEGAL),
    "misaligned ext": (changed(LOAD, ext_base=1), Cause.ILLEGAL),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("before", [0, 3])
def test_a_bad_command_stops_the_core(device, name, before):
    command, cause = BAD[name]
    functional = FunctionalDevice(SMALL)
    for chip in (device, functional):
        chip.run({command.ENGINE: [GOOD[command.ENGINE]] * before + [command, command]})
        with pytest.raises(DeviceError) as failure:
            chip.wait(LIMIT)
        error = failure.value
        assert (error.engine, error.cause, error.index) == (command.ENGINE, cause, before)
    assert_works_after_reset(device)


@pytest.mark.parametrize("engine", GOOD)
@pytest.mark.parametrize("opcode", [0, 8, 15, "other"])
@pytest.mark.parametrize("before", [0, 2])
def test_an_unknown_opcode_stops_the_core(device, engine, opcode, before):
    foreign = {Engine.MOVE: 3, Engine.MATRIX: 5, Engine.VECTOR: 1}[engine]
    words = [foreign if opcode == "other" else opcode] + [0] * (WORDS[engine] - 1)
    device.run_words({engine: GOOD[engine].encode() * before + words})
    with pytest.raises(DeviceError, match=f"^the core stopped: {engine.name} command {before}: "
                                          "UNKNOWN_OPCODE$"):
        device.wait(LIMIT)
    assert_works_after_reset(device)


@pytest.mark.parametrize("engine", GOOD)
def test_a_queue_overrun_stops_the_core(device, engine):
    window = SMALL.host_address(Region.QUEUES, 4 * engine)
    # The sequencer takes the first command's words out of the queue.
    device.harness.host_write(window, [GOOD[engine].encode()[0]] * (
        SMALL.queue_depth + WORDS[engine]), stride=0)
    device.check()
    device.harness.host_write(window, 0)
    with pytest.raises(DeviceError, match=f"^the core stopped: {engine.name} command 0: "
                                          "QUEUE_OVERRUN$"):
        device.check()
    assert_works_after_reset(device)


@pytest.mark.parametrize("engine", GOOD)
def test_a_semaphore_overflow_names_who_signalled(device, engine):
    full = (1 << SMALL.semaphore_width) - 1
    for _ in range(full - 1):
        device.write_register(Register.SIGNAL, 1 << 5)
    signals = changed(GOOD[engine], signal=1 << 5)
    device.run({engine: [GOOD[engine], signals, signals, GOOD[engine]]})
    with pytest.raises(DeviceError, match=f"^the core stopped: {engine.name} command 2: "
                                          "SEMAPHORE_OVERFLOW$"):
        device.wait(LIMIT)
    assert_works_after_reset(device)


def test_the_host_can_overflow_a_semaphore_too(device):
    for _ in range(1 << SMALL.semaphore_width):
        device.check()
        device.write_register(Register.SIGNAL, 1 << 2)
    with pytest.raises(DeviceError, match=r"stopped: HOST command 0: SEMAPHORE_OVERFLOW$"):
        device.check()
    assert_works_after_reset(device)


HOST_FAULTS = {
    "write to acc": ("write", Region.ACC, 0), "read of a queue": ("read", Region.QUEUES, 0),
    "write beside the queues": ("write", Region.QUEUES, 12),
    "read past the registers": ("read", Region.REGISTERS, 0x100),
    **{f"{what} past {region.name.lower()}": (what, region, SMALL.region_bytes(region))
       for what in ("read", "write") for region in Region if region >= Region.ACT},
    "misaligned read": ("read", Region.ACT, 2),
}


@pytest.mark.parametrize("name", HOST_FAULTS)
def test_a_bad_address_of_the_host_stops_the_core(device, name):
    what, region, offset = HOST_FAULTS[name]
    address = SMALL.host_address(region, offset)
    if what == "read":
        assert device.harness.host_read(address) == 0
    else:
        device.harness.host_write(address, 1)
    with pytest.raises(DeviceError, match=r"^the core stopped: HOST command 0: ADDRESS$"):
        device.check()
    assert_works_after_reset(device)


def test_another_core_is_a_bad_address(device):
    assert device.harness.host_read(SMALL.host_address(Region.ACT, 0, core=1)) == 0
    with pytest.raises(DeviceError, match="HOST command 0: ADDRESS"):
        device.check()


def test_the_first_fault_stays_and_the_host_reads_on(device):
    device.write(Region.ACT, 0, b"abcd")
    device.run({Engine.MATRIX: [changed(PRODUCT, count0=0)]})
    with pytest.raises(DeviceError, match="MATRIX command 0: ZERO_LOOP"):
        device.wait(LIMIT)
    device.harness.host_read(SMALL.host_address(Region.ACT, 1))
    with pytest.raises(DeviceError, match="MATRIX command 0: ZERO_LOOP"):
        device.check()
    assert device.read(Region.ACT, 0, 4) == b"abcd"
    assert device.read_register(Register.ID) == SMALL.identity


def assert_works_after_reset(device):
    """Reset, then run a whole chain against the functional device."""
    device.reset()
    functional = FunctionalDevice(SMALL)
    for region in (*(region for region in Region if region >= Region.ACT), "ext"):
        if region != Region.ACC:
            functional.write(region, 0, device.read(region, 0, device.size(region)))
    fill(device, functional, seed=1, size=2048)
    for chip in (device, functional):
        chip.run(chain(SMALL, repeat=1))
        chip.wait(LIMIT)
    used = 4 * SMALL.cols * 24
    assert device.read(Region.ACC, 0, used) == functional.read(Region.ACC, 0, used)
    for region in (Region.ACT, Region.VEC, Region.ROW, Region.WGT, Region.CONST):
        size = device.size(region)
        assert device.read(region, 0, size) == functional.read(region, 0, size), region
    assert device.read("ext", 0, EXT_USED) == functional.read("ext", 0, EXT_USED)


def test_an_unsignalled_semaphore_is_named(device):
    device.run({Engine.MATRIX: [PRODUCT, changed(PRODUCT, wait=1 << 4 | 1 << 9)],
                Engine.VECTOR: [changed(PASS, wait=1 << 4)], Engine.MOVE: [LOAD]})
    device.write_register(Register.SIGNAL, 1 << 9)
    with pytest.raises(StuckError) as failure:
        device.wait(2000)
    text = str(failure.value)
    assert text.startswith("not finished after 2000 cycles: MOVE has finished; "
                           "MATRIX command 1 waits for semaphore 4: PRODUCT wait=528 ")
    assert "VECTOR command 0 waits for semaphore 4: PASS" in text
    assert_works_after_reset(device)


def test_a_cut_command_is_named(device):
    device.run_words({Engine.MOVE: LOAD.encode()[:-1]})
    with pytest.raises(StuckError, match="MOVE command 0 is incomplete: 6 of 7 words; MATRIX has "
                                         "finished; VECTOR has finished"):
        device.wait(1000)
    assert_works_after_reset(device)


@pytest.mark.parametrize("kind", [Load, Store])
def test_a_reset_in_the_middle_of_moves_leaves_no_trace(device, kind):
    """Answers that external memory still owes are not taken for those of the next command."""
    big = kind(region=Region.VEC, rows=8, row_bytes=512, ext_base=65536, ext_stride=512, stride=512)
    for cycles in range(20, 90, 7):
        device.reset()
        device.run({Engine.MOVE: [big]})
        with pytest.raises(StuckError, match=f"MOVE command 0 has not retired: "
                                             f"{kind.OPCODE.name}"):
            device.wait(cycles)
        assert_works_after_reset(device)


def test_control_run_holds_everything_back(device):
    device.write_register(Register.CONTROL, 0)
    harness = device.harness
    harness.host_write(SMALL.host_address(Region.QUEUES, 4), PRODUCT.encode(), stride=0)
    harness.step(200)
    status = device.read_register(Register.STATUS)
    assert not status_field(status, "idle")
    assert not status_field(status, "active")
    device.write_register(Register.CONTROL, Control.RUN)
    harness.step(200)
    assert status_field(device.read_register(Register.STATUS), "idle")


def test_counters_are_cleared_on_command_only(device):
    device.run({Engine.MATRIX: [PRODUCT] * 3})
    device.wait(LIMIT)
    offset = counter_offset(Engine.MATRIX, Counter.COMMANDS)
    assert device.read_register(offset) == 3
    device.reset()
    assert device.read_register(offset) == 3
    device.write_register(Register.CONTROL, Control.CLEAR_COUNTERS)
    assert device.read_register(offset) == 0
    assert device.read_register(Register.CYCLES) == 0


def test_queue_space_and_semaphores_are_readable(device):
    words = PRODUCT.encode()
    device.harness.host_write(SMALL.host_address(Region.QUEUES, 4), words * 2, stride=0)
    space = device.read_register(Register.QUEUE_SPACE)
    depth = SMALL.queue_depth
    # One command is in the sequencer already.
    assert [space >> 10 * e & 1023 for e in range(3)] == [depth, depth - len(words), depth]
    device.write_register(Register.SIGNAL, 0x8003)
    device.write_register(Register.SIGNAL, 0x0002)
    assert device.semaphores() == [1, 2] + [0] * 13 + [1]

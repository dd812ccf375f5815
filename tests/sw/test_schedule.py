"""From a sequential list to the engines' streams."""
import numpy as np
import pytest

from systolith.hw.config import Region
from systolith.hw.configs import get_config
from systolith.hw.isa import Engine, Load, Output, Pass, Product, Reduce, Sink, Source, Store, Table
from systolith.sw.compiler import CompileError
from systolith.sw.compiler.schedule import schedule
from systolith.sw.compiler.signals import CHANNELS
from systolith.sw.compiler.verifier import verify
from systolith.sw.runtime.functional import FunctionalDevice

TINY = get_config("tiny")


def load(region, word, words, external=0):
    size = TINY.word_bytes(region)
    return Load(region=region, rows=1, row_bytes=words * size, base=word * size, ext_base=external)


def product(act=0, wgt=0, acc=0, count=1):
    return Product(count0=1, count1=count, count2=1, act_base=act, wgt_base=wgt, acc_base=acc,
                   act1_stride=1, acc1_stride=1)


def drain(acc=0, count=1, **fields):
    return Pass(source=Source.ACC, source_base=acc, source_row_stride=1, rows=count, beats=1,
                valid=4, output=Output.INT8, **fields)


def test_a_load_a_product_and_its_drain_are_chained():
    streams = schedule([load(Region.ACT, 0, 1), load(Region.WGT, 0, 1), product(), drain()], TINY)
    first, second = streams[Engine.MOVE]
    to_matrix = 1 << CHANNELS[Engine.MOVE, Engine.MATRIX]
    # Loads retire in order, so the second one's token is enough.
    assert (first.signal, second.signal) == (0, to_matrix)
    assert streams[Engine.MATRIX][0].wait == to_matrix
    to_vector = 1 << CHANNELS[Engine.MATRIX, Engine.VECTOR]
    assert streams[Engine.MATRIX][0].signal == streams[Engine.VECTOR][0].wait == to_vector
    verify(TINY, streams)


def test_commands_that_share_nothing_are_not_ordered():
    streams = schedule([load(Region.ACT, 8, 1), product(), drain(acc=100)], TINY)
    assert all(command.wait == command.signal == command.fence == 0
               for stream in streams.values() for command in stream)


def test_overwriting_waits_for_the_last_reader():
    streams = schedule([product(), drain(), product()], TINY)
    back = 1 << CHANNELS[Engine.VECTOR, Engine.MATRIX]
    assert streams[Engine.VECTOR][0].signal == streams[Engine.MATRIX][1].wait == back
    verify(TINY, streams)


def test_reading_what_the_same_engine_wrote_takes_a_fence():
    maximum = drain(reduce=Reduce.MAX, row_write=5)
    use = drain(acc=10, addend=2, row_read=5)
    again = drain(acc=20, addend=2, row_read=5)
    fences = [c.fence for c in schedule([maximum, use, again], TINY)[Engine.VECTOR]]
    assert fences == [0, 1, 0]


def test_a_table_that_is_in_use_is_fenced_too():
    streams = schedule([Table(), drain(function=2), Table()], TINY)
    assert [command.fence for command in streams[Engine.VECTOR]] == [0, 1, 1]
    verify(TINY, streams)


def test_implied_needs_cost_no_token():
    """The drain of the second product already knows the load that the first one waited for."""
    commands = [load(Region.ACT, 0, 4), product(count=2), drain(count=2, sink=Sink.ACT)]
    streams = schedule(commands, TINY)
    assert streams[Engine.MOVE][0].signal == 1 << CHANNELS[Engine.MOVE, Engine.MATRIX]


def _many(count):
    """Loads of words that products use one by one, so each is worth a token."""
    commands = [load(Region.ACT, i, 1, external=4 * i) for i in range(count)]
    for i in range(count):
        commands += [product(act=i, acc=i), drain(acc=i, sink=Sink.VEC, sink_base=i)]
    for i in range(count):
        commands.append(Store(region=Region.VEC, rows=1, row_bytes=8, base=8 * (count - 1),
                              ext_base=4096 + 8 * i))
    return commands


@pytest.mark.parametrize("width", [2, 3, 8])
def test_semaphores_never_overflow(width):
    config = TINY.replace(name="narrow", semaphore_width=width)
    streams = schedule(_many(20), config)
    proof = verify(config, streams)
    assert proof.deepest_semaphore <= (1 << width) - 1
    device = FunctionalDevice(config)
    device.run(streams)
    device.wait()


def test_an_order_that_no_semaphore_can_hold():
    products = [product(acc=i) for i in range(5)]
    drains = [drain(acc=i) for i in range(5)]
    config = TINY.replace(name="narrow", semaphore_width=2)
    with pytest.raises(CompileError) as error:
        schedule([*products, *drains], config)
    assert str(error.value) == ("the order of commands needs more than 3 tokens between MATRIX and "
                                "VECTOR; semaphore_width must be larger")


def test_random_lists_verify():
    rng = np.random.default_rng(0)
    for _ in range(30):
        commands = []
        for _ in range(int(rng.integers(1, 60))):
            i, j = (int(v) for v in rng.integers(0, 6, 2))
            commands.append([
                load(Region.ACT, i, 2), load(Region.VEC, i, 2), product(act=i, acc=j, count=2),
                drain(acc=i, sink=Sink.ACT, sink_base=j),
                drain(acc=i, sink=Sink.VEC, sink_base=j),
                drain(acc=i, reduce=Reduce.SUM, row_write=j), drain(acc=i, addend=2, row_read=j),
                drain(acc=i, sink=Sink.WGT_ROWS, sink_base=j),
                Store(region=Region.VEC, rows=1, row_bytes=8, base=8 * i, ext_base=4096),
            ][rng.integers(9)])
        verify(TINY, schedule(commands, TINY))

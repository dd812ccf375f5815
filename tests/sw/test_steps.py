"""What commands need of each other, and an order in which narrow semaphores hold them."""
from systolith.hw.config import Region
from systolith.hw.configs import get_config
from systolith.hw.isa import Load, Output, Pass, Product, Send, Sink, Source, Store
from systolith.sw.compiler.processes import Processes
from systolith.sw.compiler.steps import delay_moves, steps_of

CONFIG = get_config("tiny@2x1")


def product(act=0, acc=0, count=1):
    return Product(count0=1, count1=count, count2=1, act_base=act, acc_base=acc, act1_stride=1,
                   acc1_stride=1)


def drain(acc=0, act=None):
    sink = {} if act is None else {"sink": Sink.ACT, "sink_base": act}
    return Pass(source=Source.ACC, source_base=acc, source_row_stride=1, rows=1, beats=1, valid=4,
                output=Output.INT8, **sink)


def load(word):
    return Load(region=Region.ACT, rows=1, row_bytes=8, base=4 * word)


def send(word, remote):
    return Send(region=Region.ACT, remote_region=Region.ACT, rows=1, row_bytes=8, base=4 * word,
                remote_base=4 * remote, x_first=1, x_last=1)


def store(word):
    return Store(region=Region.ACT, rows=1, row_bytes=8, base=4 * word, ext_base=4096)


def needs(commands):
    """Of each command the places of those that it must come after."""
    steps = steps_of(commands, CONFIG)
    return [sorted(steps.index(earlier) for earlier, _ in step.needs) for step in steps]


def test_needs_are_found_word_by_word():
    commands = [product(count=4), drain(acc=2), product(count=2), drain(), product(acc=2)]
    assert needs([(0, command) for command in commands]) == [[], [0], [], [2], [1]]


def test_cores_share_nothing_but_external_memory_and_what_they_send():
    assert needs([(0, product()), (1, drain()), (0, drain())]) == [[], [], [0]]
    assert needs([(0, store(0)), (1, Load(region=Region.ACT, rows=1, row_bytes=8,
                                          ext_base=4096))]) == [[], [0]]


def test_the_reader_of_what_was_sent_needs_the_link():
    steps = steps_of([(0, send(0, 8)), (1, product(act=8))], CONFIG)
    assert steps[1].needs == [(steps[0], Processes(CONFIG).link(0, 1))]


def order(commands):
    """Places of the commands in the order with delayed moves."""
    steps = steps_of(commands, CONFIG)
    return [steps.index(step) for step in delay_moves(steps)]


def test_loads_go_before_those_that_need_them():
    commands = [(0, load(0)), (0, load(8)), (0, product(act=0)), (0, product(act=8, acc=1))]
    assert order(commands) == [0, 2, 1, 3]


def test_stores_follow_what_they_need():
    commands = [(0, product()), (0, drain(act=8)), (0, product(act=4, acc=1)), (0, store(8))]
    assert order(commands) == [0, 1, 3, 2]


def test_a_send_takes_all_along_that_it_needs():
    """The load of core 0 before its Send, and no load of core 1 before it needs it."""
    commands = [(0, load(0)), (1, load(0)), (0, send(0, 8)), (1, product(act=4)),
                (1, product(act=8, acc=1)), (1, product(act=0, acc=2))]
    assert order(commands) == [3, 0, 2, 4, 1, 5]

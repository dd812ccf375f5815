"""Cores that wait for each other, share links and memory, and are fed by one host."""
import pytest

from systolith.hw.config import Region
from systolith.hw.configs import get_config
from systolith.hw.isa import Engine, Load, Notify, Pass, Send, Sink, Source, Store
from systolith.sw.estimate import ExternalMemory, estimate, estimate_mesh
from systolith.sw.estimate.network import Link, Port
from systolith.sw.runtime.device import StuckError

CONFIG = get_config("tiny@2x2")


def notify(x, y, **more):
    return Notify(x_first=x, x_last=x, y_first=y, y_last=y, **more)


def send(rows, to, **more):
    return Send(region=Region.ACT, rows=rows, row_bytes=64, base=0, stride=64,
                remote_region=Region.VEC, remote_base=0, remote_stride=64, x_first=to[0],
                x_last=to[1], y_first=to[2], y_last=to[3], **more)


LOAD = Load(region=Region.ACT, rows=8, row_bytes=256, ext_base=0, base=0)
STORE = Store(region=Region.ACT, rows=1, row_bytes=4, ext_base=0, base=0, wait=1)


def run(*moves, **more):
    return estimate_mesh(CONFIG, [{Engine.MOVE: list(own)} for own in moves], **more)


def test_a_core_without_others_takes_as_long_as_alone():
    alone = estimate(get_config("tiny"), {Engine.MOVE: [LOAD, LOAD]})
    found = run([LOAD, LOAD], [], [], [])
    assert found.cycles == found.cores[0].cycles == alone.cycles
    assert found.cores[0].counters == alone.counters
    assert found.hottest is None
    assert found.utilization == [0, 0, 0, 0]


def test_external_memory_is_shared():
    assert run([LOAD] * 4, [LOAD] * 4, [LOAD] * 4, [LOAD] * 4).cycles == pytest.approx(
        4 * 4 * 512, abs=40)
    slow = ExternalMemory(bytes_per_cycle=1)
    assert run([LOAD], [LOAD], [], [], external=slow).cycles == pytest.approx(4 * 2 * 512, abs=40)


def test_a_signal_comes_after_the_data_before_it():
    waits = run([send(4, (1, 1, 0, 0), remote_signal=1)], [STORE], [], []).cores[1]
    far = run([send(8, (1, 1, 0, 0), remote_signal=1)], [STORE], [], []).cores[1]
    assert far.cycles - waits.cycles == 4 * 16
    assert far.counters.engines[Engine.MOVE].wait_semaphore > 8 * 16


def test_all_gather_takes_what_comes_to_each_core():
    found = run(*[[send(32, (0, 1, 0, 1))] * 2] * 4)
    assert found.cycles == pytest.approx(3 * 2 * 32 * 16, rel=0.02)
    link, load = found.hottest
    assert link.port == Port.LOCAL
    assert load == pytest.approx(1, abs=0.02)
    assert found.packets[Link(0, Port.LOCAL)] == 3 * 2 * 32 * 16


def test_what_the_vector_unit_writes_goes_before_what_comes():
    """The pass writes the memory that the beats are for in every cycle."""
    writes = Pass(source=Source.VEC, sink=Sink.VEC, rows=8, beats=32, valid=64,
                  source_row_stride=0, sink_base=0)
    arrives = {Engine.MOVE: [send(1, (1, 1, 0, 0), remote_signal=1)]}, {Engine.MOVE: [STORE]}
    alone = estimate_mesh(CONFIG, [*arrives, {}, {}])
    busy = estimate_mesh(CONFIG, [arrives[0], arrives[1] | {Engine.VECTOR: [writes]}, {}, {}])
    late, early = (each.cores[1].timings[Engine.MOVE][0].retired for each in (busy, alone))
    assert late > early + 100


def test_cores_that_wait_for_each_other_are_stuck():
    with pytest.raises(StuckError, match="the MOVE engine does not go on after 0 commands"):
        run([notify(1, 0, remote_signal=1, wait=1)], [notify(0, 0, remote_signal=1, wait=1)], [],
            [])


def test_a_host_feeds_all_queues():
    """Short queues: the last words come when those of all cores have been pushed."""
    config = CONFIG.replace(name="hasty", queue_depth=32)
    few, many = ([{Engine.MOVE: [notify(1, 1)] * count}] + [{Engine.MOVE: [notify(0, 0)] * count}
                                                            for _ in range(3)]
                 for count in (30, 60))
    words = 4 * 30 * 7
    assert estimate_mesh(config, many).cycles - estimate_mesh(config, few).cycles >= words

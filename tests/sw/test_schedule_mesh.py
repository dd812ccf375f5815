"""From one list of commands of many cores to their streams: the result is that of the list."""
from dataclasses import replace

import numpy as np
import pytest

from systolith.hw.config import MEMORIES, Region
from systolith.hw.configs import get_config
from systolith.hw.isa import Engine, Load, Notify, Output, Pass, Product, Send, Sink, Source
from systolith.sw.compiler import CompileError
from systolith.sw.compiler.schedule_mesh import schedule_mesh
from systolith.sw.compiler.verifier import VerifyError, verify_mesh
from systolith.sw.reference.addressing import targets
from systolith.sw.runtime.functional_cluster import FunctionalCluster

CONFIG = get_config("tiny@2x2")


def send(target, *, word=0, remote=0, config=CONFIG):
    y, x = divmod(target, config.mesh_width)
    return Send(region=Region.ACT, remote_region=Region.ACT, rows=1, row_bytes=8, base=4 * word,
                remote_base=4 * remote, x_first=x, x_last=x, y_first=y, y_last=y)


def everyone(word, remote):
    return Send(region=Region.ACT, remote_region=Region.ACT, rows=1, row_bytes=8, base=4 * word,
                remote_base=4 * remote, x_last=1, y_last=1)


def product(act=0, acc=0):
    return Product(count0=1, count1=2, count2=1, act_base=act, acc_base=acc, act1_stride=1,
                   acc1_stride=1)


def drain(acc=0, act=0):
    return Pass(source=Source.ACC, source_base=acc, source_row_stride=1, rows=2, beats=1, valid=4,
                output=Output.INT8, sink=Sink.ACT, sink_base=act, sink_row_stride=1)


def filled(config, seed=0):
    cluster, rng = FunctionalCluster(config), np.random.default_rng(seed)
    for core in cluster.cores:
        for region in (Region.ACT, Region.WGT):
            core.write(region, 0, rng.bytes(256))
    return cluster


def memories(cluster):
    return [core.read(region, 0, 256) for core in cluster.cores for region in MEMORIES]


def in_turn(commands, config, seed):
    """The commands one by one."""
    cluster = filled(config, seed)
    for core, command in commands:
        queues = [{} for _ in range(config.cores)]
        queues[core] = {command.ENGINE: [command]}
        cluster.run(queues)
        cluster.wait()
    return memories(cluster)


def at_once(commands, config, seed):
    cluster, streams = filled(config, seed), schedule_mesh(commands, config)
    verify_mesh(config, streams)
    cluster.run(streams)
    cluster.wait()
    return memories(cluster)


def test_data_are_sent_and_their_reader_waits():
    streams = schedule_mesh([(0, send(3, word=0, remote=8)), (3, product(act=8))], CONFIG)
    data, = streams[0][Engine.MOVE]
    assert streams[3][Engine.MATRIX][0].wait == data.remote_signal != 0


def test_one_send_tells_all_who_wait():
    commands = [(core, everyone(0, 8 + 2 * core)) for core in (1, 2)]
    commands += [(core, product(act=10)) for core in range(4)]
    commands += [(core, product(act=12)) for core in range(4)]
    streams = schedule_mesh(commands, CONFIG)
    verify_mesh(CONFIG, streams)
    assert [len(streams[core][Engine.MOVE]) for core in (1, 2)] == [1, 1]
    assert streams[0][Engine.MATRIX][0].wait == streams[1][Engine.MOVE][0].remote_signal


def test_targets_that_wait_elsewhere_are_told_one_by_one():
    """One has nobody who waits, the others have different engines that do."""
    commands = [(0, everyone(0, 8)), (1, product(act=8)), (2, send(3, word=8, remote=16))]
    streams = schedule_mesh(commands, CONFIG)
    verify_mesh(CONFIG, streams)
    data, *told = streams[0][Engine.MOVE]
    assert data.remote_signal == 0
    assert [targets(each, CONFIG, 0) for each in told] == [[1], [2]]
    assert all(isinstance(each, Notify) for each in told)


def test_a_buffer_is_sent_again_only_when_it_was_read():
    commands = [(0, send(1, remote=8)), (1, product(act=8)), (0, send(1, word=4, remote=8))]
    streams = schedule_mesh(commands, CONFIG)
    credit, = streams[1][Engine.MOVE]
    assert isinstance(credit, Notify)
    assert targets(credit, CONFIG, 1) == [0]
    assert streams[0][Engine.MOVE][-1].wait == credit.remote_signal != 0


def test_a_credit_holds_up_no_load_before_it_is_needed():
    load = Load(region=Region.ACT, rows=1, row_bytes=8, base=64)
    commands = [(0, send(1, remote=8)), (1, product(act=8)), (1, load), (2, send(1, remote=12)),
                (0, send(1, word=4, remote=8))]
    assert [type(each) for each in schedule_mesh(commands, CONFIG)[1][Engine.MOVE]] == [
        Load, Notify]


def test_what_an_answer_implies_needs_no_credit():
    commands = [(0, send(1, remote=8)), (1, product(act=8)), (1, drain(act=16)),
                (1, send(0, word=16, remote=24)), (0, product(act=24)), (0, drain(act=4)),
                (0, send(1, word=4, remote=8))]
    streams = schedule_mesh(commands, CONFIG)
    assert len(streams[1][Engine.MOVE]) == 1          # the send, which signals


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("width", [3, 8])
def test_random_lists_give_what_they_give_in_turn(seed, width):
    config, rng = CONFIG.replace(name="mine", semaphore_width=width, semaphores=16), \
        np.random.default_rng(seed)
    commands = []
    for _ in range(40):
        core, i, j = (int(v) for v in rng.integers(0, 4, 3))
        commands.append((core, [product(act=4 * i, acc=2 * j), drain(acc=2 * i, act=4 * j),
                                send((core + 1) % 4, word=4 * i, remote=4 * j),
                                everyone(4 * i, 4 * j)][rng.integers(4)]))
    assert at_once(commands, config, seed) == in_turn(commands, config, seed)


def test_every_token_of_a_remote_signal_is_needed():
    """Without one signal and its wait a race is left, and the verifier names it."""
    commands = [(0, send(1, remote=8)), (1, product(act=8)), (1, drain(act=16)),
                (1, send(0, word=16, remote=24)), (0, product(act=24)),
                (0, send(1, word=4, remote=8)), (1, product(act=8, acc=4))]
    streams = schedule_mesh(commands, CONFIG)
    dropped = 0
    for core, queues in enumerate(streams):
        for index, command in enumerate(queues[Engine.MOVE]):
            if command.remote_signal:
                mutant = without(streams, core, index)
                with pytest.raises(VerifyError, match="race"):
                    verify_mesh(CONFIG, mutant)
                dropped += 1
    assert dropped >= 3


def without(streams, core, index):
    """The streams without what a command signals another core and the wait that takes it."""
    command = streams[core][Engine.MOVE][index]
    target, = targets(command, CONFIG, core)
    bit, before = command.remote_signal, sum(
        each.remote_signal == command.remote_signal and targets(each, CONFIG, core) == [target]
        for each in streams[core][Engine.MOVE][:index])
    mutant = [{engine: list(queue) for engine, queue in queues.items()} for queues in streams]
    mutant[core][Engine.MOVE][index] = replace(command, remote_signal=0)
    for queue in mutant[target].values():
        takers = [i for i, command in enumerate(queue) if command.wait & bit]
        if takers:
            taker = takers[before]
            queue[taker] = replace(queue[taker], wait=queue[taker].wait & ~bit)
    return mutant


def test_a_core_that_many_send_to_hears_of_them_by_its_move_engine():
    """Seven others, whose data two engines read: 14 semaphores would be needed, ten are left."""
    config, others = get_config("tiny@4x2"), range(1, 8)
    commands = [(core, send(0, remote=4 * core, config=config)) for core in others]
    commands += [(0, product(act=4 * core, acc=2 * core)) for core in others]
    commands += [(core, replace(send(0, remote=2 * core, config=config), remote_region=Region.VEC))
                 for core in others]
    commands += [(0, replace(drain(act=64 + 4 * core), source=Source.VEC, source_base=core, rows=1))
                 for core in others]
    assert at_once(commands, config, 0) == in_turn(commands, config, 0)
    streams = schedule_mesh(commands, config)
    own = (1 << 6) - 1
    assert [type(each) for each in streams[0][Engine.MOVE]] == [Notify] * 14
    assert all(each.wait & ~own for each in streams[0][Engine.MOVE])
    for engine in (Engine.MATRIX, Engine.VECTOR):
        assert not any(each.wait & ~own for each in streams[0][engine])


def test_too_many_semaphores_are_named():
    config = get_config("tiny@4x4")
    commands = [(core, send(0, remote=2 * core, config=config)) for core in range(1, 16)]
    commands += [(0, product(act=2 * core)) for core in range(1, 16)]
    with pytest.raises(CompileError, match="core 0 needs 21 semaphores: 6 between its engines and "
                                           "15 for pairs"):
        schedule_mesh(commands, config)

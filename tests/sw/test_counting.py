"""Semaphores that count signals of many: what their waits know, programs that rest on it."""
import dataclasses
from collections import defaultdict

import numpy as np
import pytest

from systolith.hw.config import Region
from systolith.hw.configs import get_config
from systolith.hw.isa import ENGINES, Engine, Notify, Product, Send, Table
from systolith.sw.compiler.causality import causality
from systolith.sw.compiler.channels import bits, channels_of
from systolith.sw.compiler.processes import Processes
from systolith.sw.compiler.queues import Machine, VerifyError
from systolith.sw.compiler.verifier import verify_mesh
from systolith.sw.runtime.functional_cluster import FunctionalCluster

#: Local semaphores: data have come; they have been read.
COME, READ = 1 << 0, 1 << 2
WORDS = 32


def everyone(config):
    return {"x_last": config.mesh_width - 1, "y_last": config.mesh_height - 1}


def gather(config, rounds, *, semaphores=(6, 7), buffers=2):
    """Streams in which all cores send all others a word a round, and read what came."""
    return [_gather(config, core, rounds, semaphores, buffers) for core in range(config.cores)]


def _gather(config, core, rounds, semaphores, buffers):
    moves, products, size = [], [], config.word_bytes(Region.ACT)
    for number in range(rounds):
        mask, buffer = 1 << semaphores[number % len(semaphores)], WORDS * (1 + number % buffers)
        moves.append(Send(region=Region.ACT, remote_region=Region.ACT, rows=1, row_bytes=8,
                          base=2 * core * size, remote_base=(buffer + 2 * core) * size,
                          remote_signal=mask, wait=READ if number else 0, **everyone(config)))
        moves += [Notify(wait=mask)] * (config.cores - 1)
        moves[-1] = Notify(wait=mask, signal=COME)
        products.append(Product(count0=1, count1=2 * config.cores, count2=1, act_base=buffer,
                                act1_stride=1, acc1_stride=1, wait=COME,
                                signal=READ if number < rounds - 1 else 0))
    return {Engine.MOVE: moves, Engine.MATRIX: products}


@pytest.mark.parametrize("name", ["tiny@2x1", "tiny@3x1", "tiny@2x2", "tiny@4x4"])
@pytest.mark.parametrize("rounds", [1, 2, 7])
def test_two_semaphores_in_turn_are_proven(name, rounds):
    config = get_config(name)
    proof = verify_mesh(config, gather(config, rounds))
    assert proof.deepest_semaphore == config.cores - 1
    cluster = FunctionalCluster(config)
    cluster.run(gather(config, rounds))
    cluster.wait()


def replaced(streams, core, index, *commands):
    """The streams with other commands in the place of one of a move engine."""
    queue = streams[core][Engine.MOVE]
    queue[index:index + 1] = commands
    return streams


CONFIG = get_config("tiny@2x2")
STREAMS = gather(CONFIG, 4)
SEND, WAIT = STREAMS[2][Engine.MOVE][4:6]
TOO_MANY = Notify(remote_signal=1 << 6, x_first=1, x_last=1)
MUTANTS = {
    "one semaphore": (
        gather(CONFIG, 4, semaphores=(6,)), 3, Engine.MATRIX, 0,
        "race: reads ACT word 32 while core 0 (x 0, y 0) MOVE command 0 (SEND) may still write it; "
        "semaphore 6 of core 3 (x 1, y 1) counts signals of 3 others, and of 3 that were taken 3 "
        "can be from any of them"),
    "one buffer": (
        gather(CONFIG, 4, buffers=1), 3, Engine.MOVE, 4,
        "race: writes ACT word 38 of core 0 (x 0, y 0) while core 0 (x 0, y 0) MATRIX command 0 "
        "(PRODUCT) may still read it"),
    "a missing wait": (
        replaced(gather(CONFIG, 4), 2, 5), 0, Engine.MOVE, 12,
        "signals semaphore 7 which nobody waits for (6 signals, 5 waits)"),
    "a wait that comes late": (
        replaced(replaced(gather(CONFIG, 4), 2, 7, dataclasses.replace(WAIT, signal=COME)), 2, 6,
                 Notify()), 0, Engine.MOVE, 12,
        "signals semaphore 7 which nobody waits for (6 signals, 5 waits)"),
    "a signal too many": (
        replaced(gather(CONFIG, 4), 2, 5, TOO_MANY, WAIT), 2, Engine.MOVE, 9,
        "signals semaphore 6 which nobody waits for (7 signals, 6 waits)"),
    "a signal instead of another's": (
        replaced(replaced(gather(CONFIG, 4), 2, 5, TOO_MANY, WAIT), 3, 8, dataclasses.replace(
            STREAMS[3][Engine.MOVE][8], x_first=0, x_last=0)), 0, Engine.MATRIX, 0,
        "and of 3 that were taken 2 can be from any of them"),
    "read after the next signal": (
        [{**queues, Engine.MOVE: [dataclasses.replace(move, wait=move.wait & ~READ)
                                  for move in queues[Engine.MOVE]],
          Engine.MATRIX: [dataclasses.replace(product, signal=0)
                          for product in queues[Engine.MATRIX]]} for queues in STREAMS],
        2, Engine.MOVE, 8, "race: writes ACT word 36 of core 0 (x 0, y 0) while core 0 (x 0, y 0) "
        "MATRIX command 0 (PRODUCT) may still read it"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_what_is_wrong_is_named(name):
    streams, core, engine, index, message = MUTANTS[name]
    with pytest.raises(VerifyError) as error:
        verify_mesh(CONFIG, streams)
    assert message in str(error.value)
    assert (error.value.core, error.value.engine, error.value.index) == (core, engine, index)


def test_who_runs_ahead_overflows():
    """Three others, each three rounds ahead; a semaphore of two bits holds three."""
    config = CONFIG.replace(name="narrow", semaphore_width=2)
    assert verify_mesh(config, gather(config, 4)).deepest_semaphore == 3
    signals = [Notify(remote_signal=1 << 6)] * 2
    streams = [{Engine.MOVE: [Notify(wait=1 << 6)] * 6}, *[{Engine.MOVE: signals}] * 3]
    with pytest.raises(VerifyError, match="semaphore 6 can reach 4, but holds at most 3"):
        verify_mesh(config, streams)


def random_queues(rng):
    """Commands of three engines, three semaphores, each of which one engine waits for, as often as
    any signal it."""
    sizes = rng.integers(2, 4, 3)
    places = [(engine, index) for engine in range(3) for index in range(sizes[engine])]
    masks = {place: {"wait": 0, "signal": 0} for place in places}
    for number in range(3):
        waits = [place for place in places if place[0] == number and rng.random() < 0.7]
        for wait in waits:
            masks[wait]["wait"] |= 1 << number
        for place in rng.permutation(places)[:len(waits)]:
            masks[tuple(place)]["signal"] |= 1 << number
    return {engine: [Table(**masks[engine, index], fence=int(rng.random() < 0.2))
                     for index in range(sizes[engine])] for engine in ENGINES}


class AllRuns:
    """Everything that can happen: each step is a start or a retirement of an engine's next."""

    def __init__(self, queues):
        self._queues = queues
        #: Of each command and other engine, the fewest that have retired when it starts.
        self.fewest = defaultdict(lambda: [99, 99, 99])
        self.deepest = 0
        states = seen = {((0, 0), (0, 0), (0, 0))}
        while states:
            states = {after for state in states for after in self._after(state)} - seen
            seen = seen | states

    def _value(self, state, number):
        given = sum(command.signal >> number & 1 for engine, (_, retired) in zip(
            ENGINES, state, strict=True) for command in self._queues[engine][:retired])
        return given - sum(command.wait >> number & 1 for engine, (started, _) in zip(
            ENGINES, state, strict=True) for command in self._queues[engine][:started])

    def _after(self, state):
        values = [self._value(state, number) for number in range(3)]
        self.deepest = max(self.deepest, *values)
        for engine, (started, retired) in zip(ENGINES, state, strict=True):
            queue = self._queues[engine]
            if retired < started:
                yield (*state[:engine], (started, retired + 1), *state[engine + 1:])
            if started == len(queue) or (queue[started].fence and retired < started):
                continue
            if all(values[number] > 0 for number in bits(queue[started].wait)):
                fewest = self.fewest[engine, started]
                for other in ENGINES:
                    fewest[other] = min(fewest[other], state[other][1])
                yield (*state[:engine], (started + 1, retired), *state[engine + 1:])


def test_what_is_concluded_holds_in_all_runs():
    """And is all that holds, in most cases."""
    rng, exact, counted, programs = np.random.default_rng(0), 0, 0, 0
    config = get_config("tiny")
    while programs < 100:
        queues = random_queues(rng)
        machine = Machine(Processes(config), [queues])
        try:
            channels = channels_of(machine)
            if not any(channel.counts for channel in channels.values()):
                continue
            order, clocks = causality(machine, channels)
        except VerifyError:
            continue
        programs += 1
        runs = AllRuns(queues)
        assert max(channel.depth(machine, clocks) for channel in channels.values()) >= runs.deepest
        for here in order:
            known, true = clocks[here], runs.fewest[here]
            assert all(known <= true), (queues, here)
            exact, counted = exact + sum(known == true), counted + 3
    assert exact / counted > 0.9

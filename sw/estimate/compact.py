"""The compact core: one engine that runs commands one after another.

Numbers in capitals are cycles on the way that the comment names, counted from the microprogram in
``hw/compact/microcode``: two an instruction, three a branch that asks A or a flag, three a read.
A multiplication or a shift takes a cycle more for each of its steps but the first.
"""
from collections.abc import Mapping, Sequence

import numpy as np

from systolith.hw.config import Config, Region
from systolith.hw.isa import (
    ENGINES,
    WORDS,
    Command,
    Engine,
    Move,
    Pass,
    Product,
    Store,
    Table,
)
from systolith.sw.estimate.compact_passes import TABLE, pass_cycles
from systolith.sw.estimate.external import ExternalMemory
from systolith.sw.estimate.result import Estimate, Timing
from systolith.sw.estimate.work import work_of
from systolith.sw.reference.addressing import loop_sum
from systolith.sw.runtime.device import Counters, EngineCounters, StuckError

#: Steps of a multiplication, and of a shift by a half.
STEPS = 16

#: The main loop around its steps, and a step that finds no command.
LOOP, EMPTY = 29, 7
#: From a step's start over the operation code to its known command; more for the engine's second;
#: the masks read.
FOUND, SECOND_OPCODE, KNOWN = 35, 5, 34
#: A check that fails goes on with the next step.
BLOCKED = 19
#: From there to the command's own lines without its words; until its start is noted; each word.
TAKEN, NOTED, WORD = 69, 53, 15
#: From a command's end to the note of it, the rest, and back to the loop.
RETIRE, RETIRED, AFTER = 12, 27, 10
#: Semaphores: a check, a wait and a signal without their bits.
CHECK, WAIT, SIGNAL = 22, 29, 32
#: A bit that is not in the mask of a check, a positive one, one at zero (less what it spares).
CHECKED, CHECKED_SET, CHECKED_FAILED = 24, 30, 9
#: A bit that is not in the mask of a change, and one that is.
CHANGED, CHANGED_SET = 30, 44
#: A product's own lines with their shifts; where a stride is not 0; where a flag is set.
PRODUCT, STRIDE, FLAG = 314, 17 + STEPS - 1, 6
#: A look whether the last beat has left the array.
LOOK = 4
#: A move's own lines with their shifts; each region after the first; an accumulator.
MOVE, REGION, STORE_ONLY = 166, 5, 11
#: The way to a move's last run: where there is one run, where the stride is 0, and the product.
SINGLE, FLAT, SPAN = 11, 16, 38 + 2 * (STEPS - 1)
#: A run of a move, more where it is stored, and each word of it.
RUN, STORED, MOVED_WORD = 47, 8, 28


class CompactMachine:
    """One run of the main loop.

    Parameters
    ----------
    config : Config
    streams : mapping of Engine to sequence of Command

    Attributes
    ----------
    timings : dict of Engine to list of Timing
        Of the commands that have run; a start is when the engine notes it.
    """

    def __init__(self, config: Config, streams: Mapping[Engine, Sequence[Command]]):
        self._config = config
        self._streams = {engine: list(streams.get(engine, ())) for engine in ENGINES}
        self._semaphores = [0] * 16
        self._time = 0
        self.timings: dict[Engine, list[Timing]] = {engine: [] for engine in ENGINES}

    def run(self) -> int:
        """Cycles until all is done."""
        while any(self._left(engine) for engine in ENGINES):
            self._spend(LOOP)
            # A sum, so that every engine has its step.
            if not sum(map(self._step, ENGINES)):
                raise StuckError("no engine of the compact core can go on")
        return self._time

    def _left(self, engine: Engine) -> list[Command]:
        return self._streams[engine][len(self.timings[engine]):]

    def _spend(self, cycles: int) -> None:
        self._time += cycles

    def _step(self, engine: Engine) -> bool:
        """Whether a command ran."""
        left = self._left(engine)
        if not left:
            self._spend(EMPTY)
            return False
        command = left[0]
        second = isinstance(command, Store | Table)
        self._spend(FOUND + SECOND_OPCODE * second + KNOWN)
        if command.wait and not self._check(command.wait):
            self._spend(BLOCKED)
            return False
        if command.wait:
            self._spend(WAIT)
            self._change(command.wait, -1)
        self._spend(WORD * (WORDS[engine] - 2) + NOTED)
        start = self._time
        self._spend(TAKEN - NOTED + command_cycles(command, self._config))
        end = self._time
        if command.signal:
            self._spend(SIGNAL)
            self._change(command.signal, 1)
        self._spend(RETIRE)
        self.timings[engine].append(Timing(start, end, self._time))
        self._spend(RETIRED + AFTER)
        return True

    def _check(self, mask: int) -> bool:
        """Looks at the semaphores of a mask, from the lowest on."""
        self._spend(CHECK)
        for bit in range(mask.bit_length()):
            if not mask >> bit & 1:
                self._spend(CHECKED)
            elif self._semaphores[bit]:
                self._spend(CHECKED_SET)
            else:
                self._spend(CHECKED_FAILED)
                return False
        return True

    def _change(self, mask: int, change: int) -> None:
        """Changes them."""
        for bit in range(mask.bit_length()):
            taken = mask >> bit & 1
            self._semaphores[bit] += change * taken
            self._spend(CHANGED_SET if taken else CHANGED)


def command_cycles(command: Command, config: Config) -> int:
    """From the first of a command's own lines to its end."""
    if isinstance(command, Move):
        return move_cycles(command)
    if isinstance(command, Product):
        return product_cycles(command)
    return pass_cycles(command, config) if isinstance(command, Pass) else TABLE


def product_cycles(command: Product) -> int:
    """From the first of a product's own lines to its end."""
    told = ("wgt0", "acc0", "acc1", "acc2")  # loops of which the array must know that they move
    result = PRODUCT + FLAG * (bool(command.left_unsigned) + bool(command.accumulate))
    for name in ("act", "wgt", "acc"):
        for loop in range(3):
            if getattr(command, f"{name}{loop}_stride"):
                result += STRIDE + FLAG * (f"{name}{loop}" in told)
    return result + LOOK * -(-(issue_cycles(command) + 5) // LOOK)


def issue_cycles(command: Product) -> int:
    """Cycles from a product's first beat to its last, both counted.

    A beat waits a cycle where it takes new weights, or adds to the same accumulators, as the beat
    before it.
    """
    addresses = loop_sum(command, "acc").ravel()
    loads = np.full(len(addresses), bool(command.wgt0_stride))
    loads[::command.count0] = True
    waits = (loads[1:] & loads[:-1]) | (addresses[1:] == addresses[:-1])
    return len(addresses) + int(np.count_nonzero(waits))


def move_cycles(command: Move) -> int:
    """From the first of a move's own lines to its end."""
    regions = (Region.ACT, Region.WGT, Region.VEC, Region.CONST, Region.ACC)
    place = regions.index(Region(command.region))
    result = MOVE + REGION * place + STORE_ONLY * (command.region == Region.ACC)
    for stride in (command.ext_stride, command.stride):
        result += SINGLE if command.rows == 1 else SPAN if stride else FLAT
    run = RUN + STORED * isinstance(command, Store) + MOVED_WORD * (command.row_bytes // 4)
    return result + command.rows * run


def estimate_compact(config: Config, streams: Mapping[Engine, Sequence[Command]],
                     external: ExternalMemory) -> Estimate:
    """As :func:`estimate`, for a compact core. What of the commands does not fit the queues at the
    start is taken by the engine itself, later, in cycles that are not counted here.

    Raises
    ------
    StuckError
        When the commands wait for each other.
    """
    machine = CompactMachine(config, streams)
    cycles = machine.run()
    work = work_of(streams, config, external.gap(config))
    counters = Counters(cycles, work.move_bytes, {
        engine: EngineCounters(busy=sum(each.retired - each.start for each in timings),
                               commands=len(timings))
        for engine, timings in machine.timings.items()})
    return Estimate(config, external, counters, work, machine.timings)

"""The compact core: one engine that runs commands one after another, in instructions.

Numbers in capitals are instructions of the microprogram in ``hw/compact/microcode``, on the way
that the comment names. An instruction takes two cycles; a multiplication or a shift a cycle more
for each of its steps but the first, and a read (which the cycles count) one more.
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

#: Cycles of an instruction.
INSTRUCTION = 2
#: More of a read.
READ = 1
#: Steps of a multiplication, and of a shift by a half.
STEPS = 16

#: The main loop around its steps, and a step that finds no command.
LOOP, EMPTY = 13, 3
#: From a step's start over the operation code to its known command; more for the engine's second;
#: the masks read.
FOUND, SECOND_OPCODE, KNOWN = 16, 2, 16
#: A check that fails goes on with the next step.
BLOCKED = 9
#: From there to the command's own lines without its words; until its start is noted; each word.
TAKEN, NOTED, WORD = 33, 25, 7
#: From a command's end to the note of it, the rest, and back to the loop.
RETIRE, RETIRED, AFTER = 5, 13, 5
#: Semaphores: a check, a wait and a signal without their bits.
CHECK, WAIT, SIGNAL = 10, 14, 15
#: A bit that is not in the mask of a check, a positive one, one at zero (less what it spares).
CHECKED, CHECKED_SET, CHECKED_FAILED = 11, 13, 3
#: A bit that is not in the mask of a change, and one that is.
CHANGED, CHANGED_SET = 14, 20
#: A product's own lines, and cycles of their shifts; where a stride is not 0; where a flag is set.
PRODUCT, PRODUCT_SHIFTS, STRIDE, FLAG = 139, 15, 8, 3
#: A move's own lines, and cycles of their shifts; each region after the first; an accumulator.
MOVE, MOVE_SHIFTS, REGION, STORE_ONLY = 73, 11, 2, 5
#: The way to a move's last run: where there is one run, where the stride is 0, and the product.
SINGLE, FLAT, SPAN = 5, 7, 17
#: A run of a move, more where it is stored, and each word of it.
RUN, STORED, MOVED_WORD = 22, 4, 13


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

    def _spend(self, instructions: int, cycles: int = 0) -> None:
        self._time += INSTRUCTION * instructions + cycles

    def _step(self, engine: Engine) -> bool:
        """Whether a command ran."""
        left = self._left(engine)
        if not left:
            self._spend(EMPTY)
            return False
        command = left[0]
        second = isinstance(command, Store | Table)
        self._spend(FOUND + SECOND_OPCODE * second + KNOWN, 2 * READ)
        if command.wait and not self._check(command.wait):
            self._spend(BLOCKED)
            return False
        if command.wait:
            self._spend(WAIT)
            self._change(command.wait, -1)
        words = WORDS[engine] - 2
        self._spend(WORD * words + NOTED, READ * words)
        start = self._time
        self._spend(TAKEN - NOTED, command_cycles(command, self._config))
        end = self._time
        if command.signal:
            self._spend(SIGNAL)
            self._change(command.signal, 1)
        self._spend(RETIRE, READ)
        self.timings[engine].append(Timing(start, end, self._time))
        self._spend(RETIRED + AFTER, READ)
        return True

    def _check(self, mask: int) -> bool:
        """Looks at the semaphores of a mask, from the lowest on."""
        self._spend(CHECK)
        for bit in range(mask.bit_length()):
            if not mask >> bit & 1:
                self._spend(CHECKED)
            elif self._semaphores[bit]:
                self._spend(CHECKED_SET, READ)
            else:
                self._spend(CHECKED_FAILED, READ)
                return False
        return True

    def _change(self, mask: int, change: int) -> None:
        """Changes them."""
        for bit in range(mask.bit_length()):
            taken = mask >> bit & 1
            self._semaphores[bit] += change * taken
            self._spend(CHANGED_SET if taken else CHANGED, READ * taken)


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
    instructions, cycles = PRODUCT, PRODUCT_SHIFTS
    for name in ("act", "wgt", "acc"):
        for loop in range(3):
            if getattr(command, f"{name}{loop}_stride"):
                instructions += STRIDE + FLAG * (f"{name}{loop}" in told)
                cycles += STEPS - 1
    instructions += FLAG * (bool(command.left_unsigned) + bool(command.accumulate))
    # The engine looks every second instruction whether the last beat has left the array.
    looks = -(-(issue_cycles(command) + 4) // 4)
    return INSTRUCTION * (instructions + 2 * looks) + cycles


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
    instructions = MOVE + REGION * place + STORE_ONLY * (command.region == Region.ACC)
    cycles = MOVE_SHIFTS
    for stride in (command.ext_stride, command.stride):
        if command.rows == 1:
            instructions += SINGLE
        elif not stride:
            instructions += FLAT
        else:
            instructions += SPAN
            cycles += 2 * (STEPS - 1)
    words = command.row_bytes // 4
    run = RUN + STORED * isinstance(command, Store) + MOVED_WORD * words
    return INSTRUCTION * (instructions + command.rows * run) + cycles + (
        READ * command.rows * (1 + words))


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

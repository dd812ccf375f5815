"""What a program does, counted: operations, and bytes at each memory. Energy follows from it."""
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from systolith.hw.config import TABLE_SEGMENTS, Config, Region
from systolith.hw.isa import (
    WORDS,
    Addend,
    Combine,
    Command,
    Engine,
    Function,
    Move,
    Pass,
    Product,
    Reduce,
    Scale,
    Sink,
    Source,
    Table,
)
from systolith.sw.estimate.matrix import accumulators_read, loads_of
from systolith.sw.estimate.vector import SINKS
from systolith.sw.estimate.work import beats
from systolith.sw.reference.addressing import uses_constants, uses_row, uses_stream

#: Memories that are no regions of data: function tables, and the words of commands.
TABLES, QUEUES = "tables", "queues"

#: Bytes of an entry of a function table, of a row constant, of a word of a queue.
_WORD_BYTES = 4

#: Bytes of an element by the sink of a pass.
_ELEMENT_BYTES = {Sink.ACT: 1, Sink.WGT_ROWS: 1, Sink.WGT_LANES: 1, Sink.VEC: 2}

#: Multiplications of each element by the use of the stream; a rotated pair takes four.
_COMBINE_MULTIPLIES = {Combine.MULTIPLY: 1, Combine.SELF: 1, Combine.SQUARE: 1, Combine.ROTATE: 2}


@dataclass(frozen=True)
class Activity:
    """Counts of a run.

    Parameters
    ----------
    cycles : int
    cell_operations : int
        Multiply-accumulates of all cells in beats of products, useful or not.
    accumulations : int
        32-bit additions of the accumulators.
    elements, multiplies, adds : int
        Elements of the vector unit, and the operations that their passes ask for.
    memory_bytes : mapping of str to int
        Bytes read and written of each on-chip memory, by its name.
    external_bytes : int
        Bytes that the mover moves.
    """

    cycles: int = 0
    cell_operations: int = 0
    accumulations: int = 0
    elements: int = 0
    multiplies: int = 0
    adds: int = 0
    memory_bytes: Mapping[str, int] = field(default_factory=dict)
    external_bytes: int = 0

    def __add__(self, other: "Activity") -> "Activity":
        names = ("cycles", "cell_operations", "accumulations", "elements", "multiplies", "adds",
                 "external_bytes")
        memories = Counter(self.memory_bytes)
        memories.update(other.memory_bytes)
        return Activity(memory_bytes=dict(memories), **{
            name: getattr(self, name) + getattr(other, name) for name in names})

    def as_json(self) -> dict[str, object]:
        """The counts under their stable keys."""
        return {"cycles": self.cycles, "cell_operations": self.cell_operations,
                "accumulations": self.accumulations, "vector_elements": self.elements,
                "vector_multiplies": self.multiplies, "vector_adds": self.adds,
                "memory_bytes": dict(self.memory_bytes), "external_bytes": self.external_bytes}


def activity(config: Config, streams: Mapping[Engine, Sequence[Command]], cycles: int) -> Activity:
    """Count what a program of one core does in a run of ``cycles``.

    An accumulator that is forwarded to the next beat is not read; a memory that is read a word at a
    time counts the whole word. The result is exact for the commands, whatever their data.
    """
    result = Activity(cycles=cycles)
    for engine, commands in streams.items():
        result += Activity(memory_bytes={
            QUEUES: 2 * _WORD_BYTES * WORDS[engine] * len(commands)})
        for command in commands:
            result += _activity(command, config)
    return result


def _activity(command: Command, config: Config) -> Activity:
    if isinstance(command, Product):
        return _product(command, config)
    if isinstance(command, Pass):
        return _pass(command, config)
    if isinstance(command, Table):
        return Activity(memory_bytes={"vec": TABLE_SEGMENTS * config.word_bytes(Region.VEC),
                                      TABLES: TABLE_SEGMENTS * _WORD_BYTES})
    assert isinstance(command, Move)
    moved = command.rows * command.row_bytes
    return Activity(external_bytes=moved, memory_bytes={Region(command.region).name.lower(): moved})


def _product(command: Product, config: Config) -> Activity:
    count, word = beats(command, config), config.word_bytes(Region.ACC)
    return Activity(
        cell_operations=count * config.rows * config.cols, accumulations=count * config.cols,
        memory_bytes={"act": count * config.rows,
                      "wgt": loads_of(command) * config.word_bytes(Region.WGT),
                      "acc": (count + accumulators_read(config, command)) * word})


def _pass(command: Pass, config: Config) -> Activity:
    count, lanes = beats(command, config), config.lanes
    memories: Counter[str] = Counter()
    if command.source == Source.ACC:
        memories["acc"] += count * config.word_bytes(Region.ACC)
    if command.source == Source.VEC or uses_stream(command):
        memories["vec"] += count * config.word_bytes(Region.VEC)
    if uses_constants(command):
        memories["const"] += count * config.word_bytes(Region.CONST)
    memories["row"] += _WORD_BYTES * command.rows * (
        uses_row(command) + (command.reduce != Reduce.NONE))
    if command.function != Function.NONE:
        memories[TABLES] += count * lanes * _WORD_BYTES
    if command.sink != Sink.NONE:
        sink = Sink(command.sink)
        memories[SINKS[sink].name.lower()] += count * lanes * _ELEMENT_BYTES[sink]
    multiplies, adds = _operations(command)
    return Activity(elements=count * lanes, multiplies=count * lanes * multiplies,
                    adds=count * lanes * adds, memory_bytes=dict(memories))


def _operations(command: Pass) -> tuple[int, int]:
    """Multiplications and additions of each element. Rounding is an addition."""
    scaled = command.scale != Scale.NONE or bool(command.row_scale)
    table = command.function != Function.NONE
    combined = Combine(command.combine)
    multiplies = scaled + table + _COMBINE_MULTIPLIES.get(combined, 0)
    adds = ((command.addend != Addend.NONE) + scaled + table
            + (combined in (Combine.ADD, Combine.ROTATE)) + (command.reduce != Reduce.NONE))
    return multiplies, adds

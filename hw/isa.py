"""The one definition of commands, registers and error causes.

The decoder, the assembler, the disassembler, the functional device and ``docs/isa.md`` derive from
the classes here. A command is a dataclass whose fields carry their width and meaning; fields are
laid out in order in 32-bit little-endian words and never cross a word.
"""
import dataclasses
import enum
import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from systolith.hw.config import OFFSET_BITS

VERSION = 1


class Engine(enum.IntEnum):
    """The three engines of a core, each with a queue. ``HOST`` names the origin of a host error."""

    MOVE = 0
    MATRIX = 1
    VECTOR = 2
    HOST = 3


ENGINES = (Engine.MOVE, Engine.MATRIX, Engine.VECTOR)


class Opcode(enum.IntEnum):
    """Operation codes. 0 is no operation code, so an erased queue stops the core."""

    LOAD = 1
    STORE = 2
    PRODUCT = 3
    PASS = 4
    TABLE = 5
    SEND = 6
    NOTIFY = 7


class Cause(enum.IntEnum):
    """Why a core stopped."""

    NONE = 0
    UNKNOWN_OPCODE = 1
    ZERO_LOOP = 2
    ADDRESS = 3
    QUEUE_OVERRUN = 4
    SEMAPHORE_OVERFLOW = 5
    ILLEGAL = 6


class Source(enum.IntEnum):
    """Where a pass reads its elements."""

    ACC = 0
    VEC = 1


class Addend(enum.IntEnum):
    """What a pass adds first: nothing, the column's bias, or minus the row's constant."""

    NONE = 0
    COLUMN = 1
    ROW = 2


class Scale(enum.IntEnum):
    """The first factor of a pass's scale: none, the command's, or the column's."""

    NONE = 0
    TENSOR = 1
    COLUMN = 2


class Function(enum.IntEnum):
    """Use of the function table."""

    NONE = 0
    LINEAR = 1
    EXP2 = 2


class Combine(enum.IntEnum):
    """What a pass does with the stream of vector memory; SELF: with its own scaled input; SQUARE:
    nothing with it, the element is squared."""

    NONE = 0
    ADD = 1
    MULTIPLY = 2
    SELF = 3
    ROTATE = 4
    SQUARE = 5


class Reduce(enum.IntEnum):
    """The reduction over a row. INDEX: the place of the maximum, the first of equal ones."""

    NONE = 0
    MAX = 1
    SUM = 2
    ABSMAX = 3
    INDEX = 4


class Scalar(enum.IntEnum):
    """What is stored of a row's reduction ``r``: ``r`` saturated to INT32; the scale words of
    ``1 / r``, of ``1 / sqrt(r)``, of ``r / 2**31``; or ``r / 2**15`` rounded, as INT32."""

    NONE = 0
    RECIPROCAL = 1
    INVERSE_ROOT = 2
    SCALE = 3
    MEAN = 4


class Output(enum.IntEnum):
    """Range to which a pass saturates."""

    INT8 = 0
    UINT8 = 1
    INT16 = 2


class Sink(enum.IntEnum):
    """Where a pass writes. ``WGT_ROWS``: element row = weight bank; ``WGT_LANES``: transposed."""

    NONE = 0
    ACT = 1
    WGT_ROWS = 2
    WGT_LANES = 3
    VEC = 4


class FieldLayout(NamedTuple):
    """Position of one field: word index, least significant bit, width."""

    name: str
    word: int
    lsb: int
    width: int
    enum: Any
    doc: str


def bits(width: int, doc: str, *, kind: Any = None, default: int = 0) -> Any:
    """A command field of ``width`` bits."""
    return dataclasses.field(default=default,
                             metadata={"width": width, "doc": doc, "kind": kind})


class CommandError(ValueError):
    """A command that cannot be encoded or decoded. The message names field, value and limit."""


@dataclass(frozen=True, kw_only=True)
class Command:
    """What every command has. Words 0 and 1 start with these fields."""

    ENGINE: ClassVar[Engine]
    OPCODE: ClassVar[Opcode]
    #: Fields that count iterations; zero stops the core.
    COUNTS: ClassVar[tuple[str, ...]] = ()

    fence: int = bits(1, "start only when all earlier commands of this engine have retired")
    wait: int = bits(16, "semaphores that must be positive; each is decremented when this starts")
    signal: int = bits(16, "semaphores that are incremented when this retires")

    @classmethod
    @functools.cache
    def layout(cls) -> tuple[FieldLayout, ...]:
        """Positions of all fields, the operation code first."""
        # Word 0 starts with opcode (4 bits) and fence; word 1 is wait and signal.
        fixed = {"opcode": (0, 0), "fence": (0, 4), "wait": (1, 0), "signal": (1, 16)}
        result = [FieldLayout("opcode", 0, 0, 4, Opcode, "operation code")]
        word, lsb = 0, 5
        for field in dataclasses.fields(cls):
            width, kind, doc = (field.metadata[key] for key in ("width", "kind", "doc"))
            if field.name in fixed:
                place = fixed[field.name]
            else:
                if lsb + width > 32:
                    word, lsb = (word + 1 if word != 0 else 2), 0
                place, lsb = (word, lsb), lsb + width
            result.append(FieldLayout(field.name, *place, width, kind, doc))
        return tuple(result)

    def encode(self) -> list[int]:
        """The command as 32-bit words.

        Raises
        ------
        CommandError
            When a value does not fit its field.
        """
        words = [0] * WORDS[self.ENGINE]
        for name, word, lsb, width, _, _ in self.layout():
            value = int(self.OPCODE if name == "opcode" else getattr(self, name))
            if not 0 <= value < 1 << width:
                raise CommandError(f"{type(self).__name__}.{name} is {value}, "
                                   f"but {width} bits hold 0 to {(1 << width) - 1}")
            words[word] |= value << lsb
        return words

    def __str__(self) -> str:
        parts = []
        for name, _, _, _, kind, _ in self.layout()[1:]:
            value = getattr(self, name)
            if value:
                parts.append(f"{name}={kind(value).name if kind else value}")
        return " ".join([self.OPCODE.name, *parts])


@dataclass(frozen=True, kw_only=True)
class Move(Command):
    """Copy ``rows`` runs of ``row_bytes`` between external memory and a memory of the core.

    Addresses, strides and ``row_bytes`` are in bytes and must be multiples of the bus width.
    Only ACT, WGT, VEC, CONST can be loaded, and ACT, WGT, VEC, CONST, ACC stored.
    """

    ENGINE: ClassVar[Engine] = Engine.MOVE
    COUNTS: ClassVar[tuple[str, ...]] = ("rows", "row_bytes")

    region: int = bits(3, "memory of the core (see the address map)")
    rows: int = bits(16, "number of runs")
    row_bytes: int = bits(16, "bytes of each run")
    ext_base: int = bits(32, "byte address in external memory of the first run")
    ext_stride: int = bits(32, "bytes from run to run in external memory")
    base: int = bits(OFFSET_BITS, "byte offset in the core's memory of the first run")
    stride: int = bits(OFFSET_BITS, "bytes from run to run in the core's memory")


@dataclass(frozen=True, kw_only=True)
class Load(Move):
    """External memory to core."""

    OPCODE: ClassVar[Opcode] = Opcode.LOAD


@dataclass(frozen=True, kw_only=True)
class Store(Move):
    """Core to external memory."""

    OPCODE: ClassVar[Opcode] = Opcode.STORE


@dataclass(frozen=True, kw_only=True)
class Remote(Command):
    """What goes through the mesh. The target is a rectangle of nodes, all of them inside the mesh:
    those with ``x_first <= x <= x_last`` and ``y_first <= y <= y_last``. This core may lie in it,
    but nothing comes back to it.

    The places of the fields are those of a move, with the remote address in the place of the one
    in external memory.
    """

    ENGINE: ClassVar[Engine] = Engine.MOVE

    region: int = bits(3, "memory of this core (see the address map)")
    rows: int = bits(16, "number of runs")
    row_bytes: int = bits(16, "bytes of each run")
    remote_signal: int = bits(16, "semaphores that every target increments, after all data")
    remote_base: int = bits(OFFSET_BITS, "byte offset in the targets' memory of the first run")
    remote_region: int = bits(3, "memory of the targets")
    remote_stride: int = bits(OFFSET_BITS, "bytes from run to run in the targets' memory")
    base: int = bits(OFFSET_BITS, "byte offset in this core's memory of the first run")
    x_first: int = bits(4, "first column of the target")
    x_last: int = bits(4, "last column of the target")
    stride: int = bits(OFFSET_BITS, "bytes from run to run in this core's memory")
    y_first: int = bits(4, "first row of the target")
    y_last: int = bits(4, "last row of the target")


@dataclass(frozen=True, kw_only=True)
class Send(Remote):
    """Copy ``rows`` runs of ``row_bytes`` out of this core into the memories of other cores.

    Each target but this core writes the data at the same address, then increments
    ``remote_signal``. What one core sends to another arrives in the order of its commands, so a
    signal says that all data before it is there.
    The command retires when its last packet has gone into the mesh.
    Addresses, strides and ``row_bytes`` are in bytes and must be multiples of the bus width.
    ACT, WGT, VEC, CONST, ROW, ACC can be sent, and all of these but ACC written.
    """

    OPCODE: ClassVar[Opcode] = Opcode.SEND
    COUNTS: ClassVar[tuple[str, ...]] = ("rows", "row_bytes")


@dataclass(frozen=True, kw_only=True)
class Notify(Remote):
    """Let every target but this core increment ``remote_signal``. Fields of data are ignored."""

    OPCODE: ClassVar[Opcode] = Opcode.NOTIFY


@dataclass(frozen=True, kw_only=True)
class Product(Command):
    """A whole tiled product: three nested affine loops, one beat (``rows x cols`` MACs) a cycle.

    For loop indices ``i2, i1, i0`` (``i0`` innermost, each from 0 to its count - 1) the beat is
    ``acc[A] = (0 if first else acc[A]) + act[B] @ wgt[C]`` with
    ``A = acc_base + sum(i * acc_stride)`` and ``B``, ``C`` likewise; ``act[B]`` has ``rows``
    elements (signed, or unsigned where ``left_unsigned``), ``wgt[C]`` is ``rows x cols`` signed.
    A beat is *first* when the indices of all loops with ``acc_stride == 0`` are 0 and
    ``accumulate`` is 0. Sums wrap at 32 bits. Weights are re-read unless the innermost loop has
    ``wgt0_stride == 0`` and is past its first iteration.
    """

    ENGINE: ClassVar[Engine] = Engine.MATRIX
    OPCODE: ClassVar[Opcode] = Opcode.PRODUCT
    COUNTS: ClassVar[tuple[str, ...]] = ("count0", "count1", "count2")

    left_unsigned: int = bits(1, "the left operand is UINT8, not INT8")
    accumulate: int = bits(1, "add to what the accumulators hold")
    count0: int = bits(16, "iterations of the innermost loop")
    count1: int = bits(16, "iterations of the middle loop")
    count2: int = bits(16, "iterations of the outermost loop")
    act_base: int = bits(16, "first word in activation memory")
    wgt_base: int = bits(16, "first word in the weight banks")
    acc_base: int = bits(16, "first word in accumulator memory")
    act0_stride: int = bits(16, "words of activation memory a step of loop 0")
    act1_stride: int = bits(16, "words of activation memory a step of loop 1")
    act2_stride: int = bits(16, "words of activation memory a step of loop 2")
    wgt0_stride: int = bits(16, "words of weight memory a step of loop 0")
    wgt1_stride: int = bits(16, "words of weight memory a step of loop 1")
    wgt2_stride: int = bits(16, "words of weight memory a step of loop 2")
    acc0_stride: int = bits(16, "words of accumulator memory a step of loop 0")
    acc1_stride: int = bits(16, "words of accumulator memory a step of loop 1")
    acc2_stride: int = bits(16, "words of accumulator memory a step of loop 2")


@dataclass(frozen=True, kw_only=True)
class Pass(Command):
    """One pass of the vector unit over ``rows x beats`` beats of ``lanes`` elements, row by row.

    Element ``n`` of row ``m`` sits in beat ``n // lanes``. It is *valid* when ``n < valid`` and,
    where ``causal``, ``n <= position + m``; what is not valid writes 0 and does not enter the
    reduction. The stages in order (``docs/numerics.md`` defines each):

    source -> addend -> scale -> function -> combine -> [reduction] -> narrow -> saturate -> sink.

    Addresses of element ``n`` of row ``m`` with granule G (ACC source: ``cols``; VEC source and
    sink: ``lanes``; ACT and WGT_LANES sink: ``rows``; WGT_ROWS sink: ``cols``):
    ``base + m * row_stride + (n // G) * tile_stride``, place ``n % G`` in that word. For the WGT
    sinks the row is folded: with ``F = rows`` (WGT_ROWS) or ``cols`` (WGT_LANES) and
    ``p = position % F + m`` the word is ``base + (p // F) * row_stride + (n // G) * tile_stride``
    and ``p % F`` is the bank (WGT_ROWS) or the byte lane (WGT_LANES).
    The stream comes from vector memory, word ``stream_base + m * stream_row_stride + n // lanes``.
    Column constants: word ``const_base + n // lanes``. Row constants: ``row_read + m``; the
    reduction's result goes to ``row_write + m``.
    A pass with ``source = VEC`` cannot use the stream (``combine`` ADD, MULTIPLY or ROTATE).
    """

    ENGINE: ClassVar[Engine] = Engine.VECTOR
    OPCODE: ClassVar[Opcode] = Opcode.PASS
    COUNTS: ClassVar[tuple[str, ...]] = ("rows", "beats")

    source: int = bits(1, "source", kind=Source)
    addend: int = bits(2, "first addition", kind=Addend)
    scale: int = bits(2, "first factor of the scale", kind=Scale)
    row_scale: int = bits(1, "second factor of the scale: the row's constant")
    function: int = bits(2, "function table", kind=Function)
    table: int = bits(1, "which function table")
    combine: int = bits(3, "combination with the stream", kind=Combine)
    reduce: int = bits(3, "reduction over the row", kind=Reduce)
    scalar: int = bits(3, "what is stored of the reduction", kind=Scalar)
    narrow: int = bits(1, "rounding shift by 7 before saturation, after the reduction")
    output: int = bits(2, "range of the result", kind=Output)
    sink: int = bits(3, "sink", kind=Sink)
    causal: int = bits(1, "mask elements after the row's position")
    rows: int = bits(16, "rows")
    beats: int = bits(16, "beats a row, lanes elements each")
    valid: int = bits(16, "elements of each row that are valid")
    position: int = bits(16, "position of row 0 in the sequence")
    source_base: int = bits(16, "first word of the source")
    source_row_stride: int = bits(16, "source words from row to row")
    source_tile_stride: int = bits(16, "source words from tile to tile")
    const_base: int = bits(16, "first word of the column constants")
    row_read: int = bits(16, "first row constant read")
    row_write: int = bits(16, "first row constant written")
    stream_base: int = bits(16, "first word of the stream in vector memory")
    stream_row_stride: int = bits(16, "stream words from row to row")
    sink_base: int = bits(16, "first word of the sink")
    sink_row_stride: int = bits(16, "sink words from row to row")
    sink_tile_stride: int = bits(16, "sink words from tile to tile")
    multiplier: int = bits(16, "multiplier of Scale.TENSOR")
    shift: int = bits(6, "shift of Scale.TENSOR")


@dataclass(frozen=True, kw_only=True)
class Table(Command):
    """Fill a function table out of vector memory: 64 pairs (base, slope), INT16 each, in order."""

    ENGINE: ClassVar[Engine] = Engine.VECTOR
    OPCODE: ClassVar[Opcode] = Opcode.TABLE

    table: int = bits(1, "which function table")
    source_base: int = bits(16, "first word in vector memory")


COMMANDS: dict[Opcode, type[Command]] = {
    command.OPCODE: command for command in (Load, Store, Product, Pass, Table, Send, Notify)}

#: Words of every command of an engine, a fixed number so that a queue needs no length field.
WORDS = {engine: max(field.word for command in COMMANDS.values() if command.ENGINE == engine
                     for field in command.layout()) + 1 for engine in ENGINES}


def decode(engine: Engine, words: Iterable[int]) -> Command:
    """The command that these words encode.

    Raises
    ------
    CommandError
        On an unknown operation code, one of another engine, or a wrong number of words.
    """
    words = [int(word) for word in words]
    if len(words) != WORDS[engine]:
        raise CommandError(f"a {engine.name} command has {WORDS[engine]} words, not {len(words)}")
    opcode = words[0] & 15
    if opcode not in COMMANDS or COMMANDS[Opcode(opcode)].ENGINE != engine:
        raise CommandError(f"operation code {opcode} is unknown to the {engine.name} engine")
    command = COMMANDS[Opcode(opcode)]
    return command(**{name: words[word] >> lsb & (1 << width) - 1
                      for name, word, lsb, width, _, _ in command.layout() if name != "opcode"})


def decode_stream(engine: Engine, words: Iterable[int]) -> Iterator[Command]:
    """The commands of one queue's words; raises :class:`CommandError` with the command's index."""
    words, size = list(words), WORDS[engine]
    for index in range(0, len(words), size):
        try:
            yield decode(engine, words[index:index + size])
        except CommandError as error:
            raise CommandError(f"{engine.name} command {index // size}: {error}") from None


# Registers -----------------------------------------------------------------------------------

class Register(enum.IntEnum):
    """Byte offsets of the registers of a core (region REGISTERS)."""

    ID = 0x00
    VERSION = 0x04
    CONTROL = 0x08
    STATUS = 0x0C
    QUEUE_SPACE = 0x10
    SIGNAL = 0x14
    MESH = 0x18
    PACKETS = 0x1C
    SEMAPHORES = 0x20
    CYCLES = 0x40
    MOVE_BYTES = 0x44
    COUNTERS = 0x50


class Control(enum.IntFlag):
    """Bits of CONTROL. RUN stays; the others act once when written 1 and read 0."""

    RUN = 1
    RESET = 2
    CLEAR_COUNTERS = 4


class Counter(enum.IntEnum):
    """Counters of each engine, 32 bits: register ``COUNTERS + 32 * engine + 4 * counter``."""

    BUSY = 0
    WAIT_SEMAPHORE = 1
    WAIT_FENCE = 2
    STALL = 3
    COMMANDS = 4


#: Bits of one queue's free words in QUEUE_SPACE, those of engine 0 in the lowest.
SPACE_BITS = 10

#: (name, least significant bit, width, meaning) of the fields of STATUS.
STATUS_FIELDS = (
    ("idle", 0, 1, "all queues empty, no command active or in flight"),
    ("error", 1, 1, "the core has stopped; reset it"),
    ("engine", 2, 2, "Engine that stopped the core"),
    ("cause", 4, 4, "Cause"),
    ("waiting", 8, 3, "bit e: engine e waits for a semaphore"),
    ("active", 11, 3, "bit e: engine e has a command active or in flight"),
    ("index", 16, 16, "index of the command that stopped the core, since reset, modulo 65536"),
)


#: (name, least significant bit, width, meaning) of the fields of MESH, which is 0 without one.
MESH_FIELDS = (
    ("x", 0, 4, "column of this core"), ("y", 4, 4, "row of this core"),
    ("x_last", 8, 4, "last column of the mesh"), ("y_last", 12, 4, "last row of the mesh"),
)

#: The same of PACKETS. Both counts stay at their largest value; only the reset of the chip
#: clears them.
PACKET_FIELDS = (
    ("swallowed", 0, 16, "packets that came while this core was reset"),
    ("dropped", 16, 16, "packets of this core that went beyond the mesh"),
)


def status_field(word: int, name: str) -> int:
    """One field of a STATUS word."""
    _, lsb, width, _ = next(field for field in STATUS_FIELDS if field[0] == name)
    return word >> lsb & (1 << width) - 1


def counter_offset(engine: Engine, counter: Counter) -> int:
    """Byte offset of an engine's counter register."""
    return Register.COUNTERS + 32 * engine + 4 * counter


# Scale words and the tables of the scalar unit ---------------------------------------------------

#: A scale word: multiplier in bits 15:0, right shift in bits 21:16.
MULTIPLIER_BITS = 16
SHIFT_BITS = 6

#: Bits of a row's sum, signed.
SUM_BITS = 48

#: Segments of a table of the scalar unit, and the bits of a mantissa below the segment index.
SCALAR_SEGMENTS = 128
SCALAR_FRACTION = 8


def scalar_table() -> list[tuple[int, int]]:
    """Chords (base, slope) of the scalar unit: ``base - (slope * f >> 8)`` with ``f = m % 256``.

    For a mantissa ``m`` in [2**15, 2**16), in segments ``s = m // 256 - 128``: entry ``s`` gives
    ``2**31 / m``, entry ``128 + s`` ``2**23 / sqrt(m)``, entry ``256 + s`` ``2**23 / sqrt(2 * m)``,
    all within 1.7 units. ``base`` is a 16-bit, ``slope`` a 9-bit unsigned number, and so is the
    result (16 bits). One unit is taken off the base: the chord lies above the curve, and the shift
    cuts.
    """
    functions = (lambda m: 2 ** 31 / m, lambda m: 2 ** 23 / m ** 0.5,
                 lambda m: 2 ** 23 / (2 * m) ** 0.5)
    step = 1 << SCALAR_FRACTION
    result = []
    for function in functions:
        for segment in range(SCALAR_SEGMENTS):
            m = 2 ** 15 + segment * step
            first, last = round(function(m)), round(function(m + step))
            result.append((first - 1, first - last))
    return result

"""Which words a command touches: the address rules of the ISA as NumPy arrays.

The functional device, the verifier and the tests share these; the hardware's address generators
are tested against them.
"""
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from systolith.hw.config import MEMORIES, Config, Region
from systolith.hw.isa import (
    Addend,
    Cause,
    Combine,
    Command,
    Function,
    Load,
    Move,
    Notify,
    Output,
    Pass,
    Product,
    Reduce,
    Remote,
    Scalar,
    Scale,
    Send,
    Sink,
    Source,
    Table,
)

Ints = NDArray[np.int64]

#: Regions that a move may write and read.
LOADABLE = (Region.ACT, Region.WGT, Region.VEC, Region.CONST)
STORABLE = (*LOADABLE, Region.ACC)

#: Regions that the mesh may write and read.
RECEIVABLE = (*LOADABLE, Region.ROW)
SENDABLE = (*STORABLE, Region.ROW)

#: Words of vector memory that a table occupies, times ``lanes``.
TABLE_ELEMENTS = 128


class CommandFault(ValueError):
    """A command that stops the core. ``cause`` is what STATUS would show."""

    def __init__(self, cause: Cause, message: str):
        super().__init__(message)
        self.cause = cause


@dataclass(frozen=True)
class Access:
    """Words of one memory that a command touches.

    ``memory`` is a :class:`Region`, ``"ext"`` (word = bus beat) or ``"table"`` (word = slot).
    ``words`` are word addresses, not necessarily sorted or unique. Weight memory counts each bank
    by itself: ``word = address * rows + bank``.
    """

    memory: Region | str
    words: Ints
    write: bool


def uses_stream(command: Pass) -> bool:
    """Whether a pass reads the stream out of vector memory."""
    return command.combine in (Combine.ADD, Combine.MULTIPLY, Combine.ROTATE)


def uses_constants(command: Pass) -> bool:
    """Whether a pass reads column constants."""
    return command.addend == Addend.COLUMN or command.scale == Scale.COLUMN


def uses_row(command: Pass) -> bool:
    """Whether a pass reads row constants."""
    return command.addend == Addend.ROW or bool(command.row_scale)


def loop_sum(command: Product, memory: str) -> Ints:
    """Word address in ``memory`` (act, wgt, acc) of every beat, shape (count2, count1, count0)."""
    i0, i1, i2 = (np.arange(getattr(command, f"count{i}"), dtype=np.int64) for i in range(3))
    s0, s1, s2 = (getattr(command, f"{memory}{i}_stride") for i in range(3))
    base = getattr(command, f"{memory}_base")
    return base + (i2 * s2)[:, None, None] + (i1 * s1)[None, :, None] + i0 * s0


def source_words(command: Pass, config: Config) -> Ints:
    """Source word of each beat, shape (rows, beats)."""
    granule = config.cols if command.source == Source.ACC else config.lanes
    return _tiled(command, config, "source", granule, np.arange(command.rows, dtype=np.int64))


def stream_words(command: Pass) -> Ints:
    """Stream word of each beat, shape (rows, beats)."""
    m, b = np.ogrid[:command.rows, :command.beats]
    return command.stream_base + m * command.stream_row_stride + b


def sink_granule(sink: Sink, config: Config) -> int:
    """Elements of a row that share one word of the sink."""
    return {Sink.ACT: config.rows, Sink.WGT_ROWS: config.cols, Sink.WGT_LANES: config.rows,
            Sink.VEC: config.lanes}[sink]


def folded_rows(command: Pass, config: Config) -> Ints:
    """``position % F + m`` of each row for the WGT sinks, ``m`` for the others; shape (rows,)."""
    m = np.arange(command.rows, dtype=np.int64)
    fold = {Sink.WGT_ROWS: config.rows, Sink.WGT_LANES: config.cols}.get(Sink(command.sink))
    return m if fold is None else command.position % fold + m


def sink_words(command: Pass, config: Config) -> Ints:
    """Sink word of each beat, shape (rows, beats); weight addresses are those of the banks."""
    sink = Sink(command.sink)
    rows = folded_rows(command, config)
    fold = {Sink.WGT_ROWS: config.rows, Sink.WGT_LANES: config.cols}.get(sink, 1)
    return _tiled(command, config, "sink", sink_granule(sink, config), rows // fold)


def _tiled(command: Pass, config: Config, prefix: str, granule: int, rows: Ints) -> Ints:
    base, row_stride, tile_stride = (
        getattr(command, f"{prefix}_{part}") for part in ("base", "row_stride", "tile_stride"))
    tiles = np.arange(command.beats, dtype=np.int64) // (granule // config.lanes)
    return base + (rows * row_stride)[:, None] + tiles * tile_stride


def move_beats(command: Move, config: Config) -> tuple[Ints, Ints]:
    """(external, core) byte address of each beat of a move, in order, shape (rows, beats)."""
    m, b = np.ogrid[:command.rows, :command.row_bytes // config.bus_bytes]
    beat = b * config.bus_bytes
    return (command.ext_base + m * command.ext_stride + beat,
            command.base + m * command.stride + beat)


def send_beats(command: Send, config: Config) -> tuple[Ints, Ints]:
    """(remote, own) byte offset of each beat of a send, in order, shape (rows, beats)."""
    m, b = np.ogrid[:command.rows, :command.row_bytes // config.bus_bytes]
    beat = b * config.bus_bytes
    return (command.remote_base + m * command.remote_stride + beat,
            command.base + m * command.stride + beat)


def targets(command: Remote, config: Config, sender: int) -> list[int]:
    """Numbers of the cores that a command of ``sender`` reaches, in order: all of its rectangle
    but the sender itself."""
    rectangle = [y * config.mesh_width + x for y in range(command.y_first, command.y_last + 1)
                 for x in range(command.x_first, command.x_last + 1)]
    return [core for core in rectangle if core != sender]


def check(command: Command, config: Config) -> None:
    """What the hardware checks, before the command runs.

    Raises
    ------
    CommandFault
        With the cause that STATUS would show.
    """
    for name in command.COUNTS:
        if getattr(command, name) == 0:
            raise CommandFault(Cause.ZERO_LOOP, f"{name} is 0, but a loop runs at least once")
    if isinstance(command, Move):
        _check_move(command, config)
    if isinstance(command, Remote):
        _check_remote(command, config)
    if isinstance(command, Pass):
        _check_pass(command)
    if isinstance(command, Pass | Table) and command.table >= config.tables:
        raise CommandFault(Cause.ILLEGAL,
                           f"table is {command.table}, but there are {config.tables}")
    for access in (*accesses(command, config), *remote_accesses(command, config)):
        _check_range(access, config)


def _check_pass(command: Pass) -> None:
    for name, kind in (("addend", Addend), ("scale", Scale), ("function", Function),
                       ("combine", Combine), ("reduce", Reduce), ("scalar", Scalar),
                       ("output", Output), ("sink", Sink)):
        if getattr(command, name) not in list(kind):
            raise CommandFault(Cause.ILLEGAL,
                               f"{name} is {getattr(command, name)}, which is no {kind.__name__}")
    if command.source == Source.VEC and uses_stream(command):
        raise CommandFault(Cause.ILLEGAL, "source VEC and a stream both read vector memory")


def _check_move(command: Move, config: Config) -> None:
    if config.ext_bytes == 0:
        raise CommandFault(Cause.ILLEGAL, f"configuration {config.name} has no external memory")
    _check_region("region", command.region, LOADABLE if isinstance(command, Load) else STORABLE)
    _check_aligned(command, config, "row_bytes", "ext_base", "ext_stride", "base", "stride")


def _check_remote(command: Remote, config: Config) -> None:
    if config.cores == 1:
        raise CommandFault(Cause.ILLEGAL, f"configuration {config.name} has one core and no mesh")
    if isinstance(command, Send):
        _check_region("region", command.region, SENDABLE)
        _check_region("remote_region", command.remote_region, RECEIVABLE)
        _check_aligned(command, config, "row_bytes", "remote_base", "remote_stride", "base",
                       "stride")
    for axis, size in (("x", config.mesh_width), ("y", config.mesh_height)):
        first, last = getattr(command, f"{axis}_first"), getattr(command, f"{axis}_last")
        if not first <= last < size:
            raise CommandFault(Cause.ADDRESS, f"the target has {axis} from {first} to {last}, but "
                               f"the mesh has {size} nodes there")


def _check_region(name: str, region: int, allowed: tuple[Region, ...]) -> None:
    if region not in allowed:
        raise CommandFault(Cause.ILLEGAL, f"{name} {region} is not one of "
                           f"{', '.join(each.name for each in allowed)}")


def _check_aligned(command: Move | Send, config: Config, *names: str) -> None:
    for name in names:
        if getattr(command, name) % config.bus_bytes:
            raise CommandFault(Cause.ILLEGAL, f"{name} is {getattr(command, name)}, "
                               f"not a multiple of the bus width, {config.bus_bytes} bytes")


def _check_range(access: Access, config: Config) -> None:
    if access.memory == "table" or access.words.size == 0:
        return
    if isinstance(access.memory, Region):
        banks = config.rows if access.memory == Region.WGT else 1
        limit, name = config.depth(access.memory) * banks, access.memory.name
    else:
        banks, limit, name = 1, config.ext_bytes // config.bus_bytes, "external memory"
    highest = int(access.words.max())
    if highest >= limit:
        raise CommandFault(Cause.ADDRESS, f"word {highest // banks} is past the end of {name}, "
                           f"{limit // banks} words")


def accesses(command: Command, config: Config) -> list[Access]:
    """All words the command reads and writes, one entry a memory and direction."""
    if isinstance(command, Product):
        return _product_accesses(command, config)
    if isinstance(command, Pass):
        return _pass_accesses(command, config)
    if isinstance(command, Table):
        words = command.source_base + np.arange(-(-TABLE_ELEMENTS // config.lanes))
        return [Access(Region.VEC, words, False), Access("table", np.array([command.table]), True)]
    if isinstance(command, Send):
        region = Region(command.region)
        return [Access(region, _moved_words(send_beats(command, config)[1], region, config), False)]
    if isinstance(command, Notify):
        return []
    assert isinstance(command, Move)
    return _move_accesses(command, config)


def remote_accesses(command: Command, config: Config) -> list[Access]:
    """The words that a command writes in every core that it reaches."""
    if not isinstance(command, Send):
        return []
    region = Region(command.remote_region)
    return [Access(region, _moved_words(send_beats(command, config)[0], region, config), True)]


def _product_accesses(command: Product, config: Config) -> list[Access]:
    return [
        Access(Region.ACT, _visited(command, "act"), False),
        Access(Region.WGT, _all_banks(_visited(command, "wgt"), config), False),
        Access(Region.ACC, _visited(command, "acc"), True),
    ]


def _pass_accesses(command: Pass, config: Config) -> list[Access]:
    source = Region.ACC if command.source == Source.ACC else Region.VEC
    rows = np.arange(command.rows, dtype=np.int64)
    result = [Access(source, _distinct(source_words(command, config)), False)]
    if uses_stream(command):
        result.append(Access(Region.VEC, _distinct(stream_words(command)), False))
    if uses_constants(command):
        beats = np.arange(command.beats, dtype=np.int64)
        result.append(Access(Region.CONST, command.const_base + beats, False))
    if uses_row(command):
        result.append(Access(Region.ROW, command.row_read + rows, False))
    if command.reduce != Reduce.NONE:
        result.append(Access(Region.ROW, command.row_write + rows, True))
    if command.function != Function.NONE:
        result.append(Access("table", np.array([command.table]), False))
    if command.sink != Sink.NONE:
        result.append(_sink_access(command, config))
    return result


def _sink_access(command: Pass, config: Config) -> Access:
    words = sink_words(command, config)
    if command.sink == Sink.ACT:
        return Access(Region.ACT, _distinct(words), True)
    if command.sink == Sink.VEC:
        return Access(Region.VEC, _distinct(words), True)
    if command.sink == Sink.WGT_ROWS:
        bank = (folded_rows(command, config) % config.rows)[:, None]
        return Access(Region.WGT, _distinct(words * config.rows + bank), True)
    first = np.arange(command.beats) * config.lanes % config.rows
    banks = first[:, None] + np.arange(config.lanes)
    return Access(Region.WGT, _distinct(words[:, :, None] * config.rows + banks), True)


def _move_accesses(command: Move, config: Config) -> list[Access]:
    ext, core = move_beats(command, config)
    load = isinstance(command, Load)
    region = Region(command.region)
    return [Access("ext", _distinct(ext // config.bus_bytes), not load),
            Access(region, _moved_words(core, region, config), load)]


def _moved_words(beats: Ints, region: Region, config: Config) -> Ints:
    """Words that beats at these byte offsets touch. A weight word is one bank's here."""
    size = config.cols if region == Region.WGT else config.word_bytes(region)
    if size < config.bus_bytes:
        beats = (beats[..., None] + np.arange(0, config.bus_bytes, size)).reshape(-1)
    return _distinct(beats // size)


def _visited(command: Product, memory: str) -> Ints:
    """Words of a memory that a product visits; loops that stay where they are count once."""
    moving = tuple(slice(None) if getattr(command, f"{memory}{loop}_stride") else slice(1)
                   for loop in (2, 1, 0))
    return loop_sum(command, memory)[moving].ravel()


def _distinct(words: Ints) -> Ints:
    """The words in order, without those that equal the one before: sorting would cost more than
    the few that are left twice."""
    words = words.ravel()
    return words[np.concatenate([[True], words[1:] != words[:-1]])] if words.size else words


def _all_banks(words: Ints, config: Config) -> Ints:
    return (words[:, None] * config.rows + np.arange(config.rows)).ravel()


@cache
def memory_words(config: Config) -> dict[Region | str, int]:
    """Words of each memory in the numbering of :class:`Access`."""
    sizes: dict[Region | str, int] = {region: config.depth(region) for region in MEMORIES}
    sizes[Region.WGT] *= config.rows
    sizes["ext"] = config.ext_bytes // config.bus_bytes
    sizes["table"] = config.tables
    return sizes

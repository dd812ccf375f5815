"""Random but lawful commands of the vector unit."""
from collections.abc import Iterator

import numpy as np

from systolith.hw.config import Config, Region
from systolith.hw.isa import (
    Addend,
    Combine,
    Command,
    Function,
    Output,
    Pass,
    Reduce,
    Scalar,
    Scale,
    Sink,
    Source,
    Table,
)
from systolith.sw.reference.addressing import CommandFault, accesses, check


def random_commands(config: Config, rng: np.random.Generator, count: int) -> Iterator[Command]:
    """Commands whose addresses lie inside the memories and that do not read what they write."""
    for _ in range(count):
        command = random_command(config, rng)
        while not lawful(command, config):
            command = random_command(config, rng)
        yield command


def lawful(command: Command, config: Config) -> bool:
    """Whether the command runs, and means the same whatever is read before it is written."""
    try:
        check(command, config)
    except CommandFault:
        return False
    used = accesses(command, config)
    written = [access for access in used if access.write]
    return not any(read.memory == write.memory and np.intersect1d(read.words, write.words).size
                   for read in used if not read.write for write in written)


def random_command(config: Config, rng: np.random.Generator) -> Command:
    if rng.random() < 0.1:
        return Table(table=int(rng.integers(config.tables)),
                     source_base=int(rng.integers(config.vec_depth)))
    return random_pass(config, rng)


def random_pass(config: Config, rng: np.random.Generator) -> Pass:
    """Any stage in any mode; addresses are likely, not certain, to be inside."""
    rows, beats = _count(rng, 6), _count(rng, 6)

    def word(region: Region) -> int:
        return int(rng.integers(config.depth(region)))

    def stride(limit: int) -> int:
        return int(rng.integers(limit))

    source = Source(int(rng.integers(2)))
    combine = Combine(int(rng.choice([0, 3, 5] if source == Source.VEC else [0, 1, 2, 3, 4, 5])))
    sink = Sink(int(rng.integers(5)))
    sink_region = {Sink.NONE: Region.ACT, Sink.ACT: Region.ACT, Sink.VEC: Region.VEC}.get(
        sink, Region.WGT)
    return Pass(
        source=source, addend=Addend(int(rng.integers(3))), scale=Scale(int(rng.integers(3))),
        row_scale=int(rng.integers(2)), function=Function(int(rng.choice([0, 0, 1, 2]))),
        table=int(rng.integers(config.tables)), combine=combine,
        reduce=Reduce(int(rng.integers(5))), scalar=Scalar(int(rng.integers(5))),
        narrow=int(rng.integers(2)), output=Output(int(rng.integers(3))), sink=sink,
        causal=int(rng.integers(2)), rows=rows, beats=beats,
        valid=int(rng.integers(beats * config.lanes + 3)), position=_position(rng, beats, config),
        source_base=word(Region.ACC if source == Source.ACC else Region.VEC),
        source_row_stride=stride(8), source_tile_stride=stride(3), const_base=word(Region.CONST),
        row_read=word(Region.ROW), row_write=word(Region.ROW), stream_base=word(Region.VEC),
        stream_row_stride=stride(8), sink_base=word(sink_region), sink_row_stride=stride(8),
        sink_tile_stride=stride(4), multiplier=int(rng.integers(1 << 16)),
        shift=int(rng.choice([0, 8, 15, 16, 17, 20, 24, 31, 40, 48, 63])))


def _count(rng: np.random.Generator, limit: int) -> int:
    return 1 if rng.random() < 0.3 else int(rng.integers(1, limit + 1))


def _position(rng: np.random.Generator, beats: int, config: Config) -> int:
    """Mostly inside the rows' elements, where the causal mask acts."""
    limit = beats * config.lanes if rng.random() < 0.8 else 1 << 16
    return int(rng.integers(limit))

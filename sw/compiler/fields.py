"""Parts of commands that several lowerings share."""
from systolith.hw.config import Config
from systolith.hw.isa import Scale, Sink, Source
from systolith.sw.compiler.plan import Plan
from systolith.sw.reference.numerics import split_scale

#: (first, one after the last) of a block.
Span = tuple[int, int]

#: Fields of a command by name.
Fields = dict[str, int]


def spans(length: int, size: int) -> list[Span]:
    """Blocks of at most ``size``."""
    return [(start, min(start + size, length)) for start in range(0, length, size)]


def accumulator_slot(number: int, words: int, slots: int, config: Config) -> int:
    """First word of block ``number``: blocks alternate between the halves, which hold ``slots``
    blocks of ``words`` words each. So a block waits only for the drain of the one ``2 * slots``
    before it, and is drained while the array works in the other half."""
    return number % 2 * config.acc_half + number // 2 % slots * words


def accumulators(base: int, stride: int) -> Fields:
    """Accumulators as the source of a pass: ``stride`` words a row, tiles side by side."""
    return {"source": Source.ACC, "source_base": base, "source_row_stride": stride,
            "source_tile_stride": 1}


def tensor(word: int) -> Fields:
    """A scale word as the command's own scale."""
    multiplier, shift = split_scale(word)
    return {"scale": Scale.TENSOR, "multiplier": int(multiplier), "shift": int(shift)}


def query_sink(plan: Plan, head: int) -> Fields:
    """Queries or mixed values of a head: word ``(head * head_in + tile) * T + position``.

    The beats fill whole words, so the padding of a contraction is zero.
    """
    length, tiles = plan.shape.length, plan.tiles
    return {"sink": Sink.ACT, "sink_base": plan.q.base + head * tiles.head_in * length,
            "sink_row_stride": 1, "sink_tile_stride": length, "beats": tiles.head_beats}


def shifted(sink: Fields, start: int, config: Config) -> Fields:
    """A sink for rows from ``start`` on; the sinks into weight memory fold the rest of it."""
    fold = {Sink.WGT_ROWS: config.rows, Sink.WGT_LANES: config.cols}.get(Sink(sink["sink"]), 1)
    return sink | {"sink_base": sink["sink_base"] + start // fold * sink["sink_row_stride"]}

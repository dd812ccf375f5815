"""What each command does to the memories, in NumPy: the executable meaning of the ISA."""
from dataclasses import dataclass
from itertools import product as cartesian

import numpy as np
from numpy.typing import NDArray

from systolith.hw.config import TABLE_SEGMENTS, Config, Region
from systolith.hw.isa import (
    Addend,
    Combine,
    Command,
    Function,
    Load,
    Move,
    Output,
    Pass,
    Product,
    Reduce,
    Scalar,
    Scale,
    Send,
    Sink,
    Source,
    Table,
)
from systolith.sw.reference import addressing, numerics
from systolith.sw.reference.addressing import TABLE_ELEMENTS
from systolith.sw.reference.numerics import Ints
from systolith.sw.runtime.device import Memory


@dataclass
class Memories:
    """Contents of all memories of a core.

    ``act`` (depth, rows) uint8, ``wgt`` (depth, rows, cols) uint8, ``vec`` (depth, lanes) int16,
    ``const`` (depth, lanes, 2) uint32, ``row`` (depth,) uint32, ``acc`` (depth, cols) int32,
    ``tables`` (tables, 64, 2) int16, ``ext`` bytes.
    """

    config: Config
    act: NDArray[np.uint8]
    wgt: NDArray[np.uint8]
    vec: NDArray[np.int16]
    const: NDArray[np.uint32]
    row: NDArray[np.uint32]
    acc: NDArray[np.int32]
    tables: NDArray[np.int16]
    ext: NDArray[np.uint8]

    @classmethod
    def empty(cls, config: Config, ext: NDArray[np.uint8] | None = None) -> "Memories":
        """All zero, as the simulated hardware starts; ``ext`` where cores share it."""
        c = config
        return cls(
            config=c, act=np.zeros((c.act_depth, c.rows), np.uint8),
            wgt=np.zeros((c.wgt_depth, c.rows, c.cols), np.uint8),
            vec=np.zeros((c.vec_depth, c.lanes), "<i2"),
            const=np.zeros((c.const_depth, c.lanes, 2), "<u4"),
            row=np.zeros(c.row_depth, "<u4"), acc=np.zeros((c.acc_depth, c.cols), "<i4"),
            tables=np.zeros((c.tables, TABLE_SEGMENTS, 2), "<i2"),
            ext=np.zeros(c.ext_bytes, np.uint8) if ext is None else ext)

    def raw(self, memory: Memory) -> NDArray[np.uint8]:
        """A memory as the bytes that host and mover see, writable."""
        name = memory.name.lower() if isinstance(memory, Region) else memory
        return getattr(self, name).reshape(-1).view(np.uint8)


def execute(command: Command, memories: Memories) -> tuple[int, int]:
    """Carry out a checked command; (beats issued, bytes moved)."""
    if isinstance(command, Product):
        return _product(command, memories), 0
    if isinstance(command, Pass):
        return _pass(command, memories), 0
    if isinstance(command, Table):
        return _table(command, memories), 0
    assert isinstance(command, Move)
    return _move(command, memories)


def _move(command: Move, memories: Memories) -> tuple[int, int]:
    core_bytes, size = memories.raw(Region(command.region)), command.row_bytes
    for row in range(command.rows):
        ext, core = command.ext_base + row * command.ext_stride, command.base + row * command.stride
        if isinstance(command, Load):
            core_bytes[core:core + size] = memories.ext[ext:ext + size]
        else:
            memories.ext[ext:ext + size] = core_bytes[core:core + size]
    moved = command.rows * size
    return moved // memories.config.bus_bytes, moved


def send(command: Send, source: Memories, target: Memories) -> None:
    """Copy what a checked send carries out of one core into another."""
    own, remote = source.raw(Region(command.region)), target.raw(Region(command.remote_region))
    for row in range(command.rows):
        start = command.base + row * command.stride
        there = command.remote_base + row * command.remote_stride
        remote[there:there + command.row_bytes] = own[start:start + command.row_bytes]


def _table(command: Table, memories: Memories) -> int:
    beats = -(-TABLE_ELEMENTS // memories.config.lanes)
    values = memories.vec[command.source_base:command.source_base + beats].reshape(-1)
    memories.tables[command.table] = values[:TABLE_ELEMENTS].reshape(TABLE_SEGMENTS, 2)
    return beats


# Products ------------------------------------------------------------------------------------

def _product(command: Product, memories: Memories) -> int:
    act = addressing.loop_sum(command, "act")
    wgt = addressing.loop_sum(command, "wgt")
    acc = addressing.loop_sum(command, "acc")
    kinds = [_loop_kind(command, loop) for loop in (2, 1, 0)]
    outputs = acc[tuple(slice(1) if kind == "k" else slice(None) for kind in kinds)]
    if np.unique(outputs).size == outputs.size:
        _product_blocks(command, memories, act, wgt, acc, kinds)
    else:
        # Two outputs share an accumulator: only the order of the beats defines the result.
        k_axes = [axis for axis, kind in enumerate(kinds) if kind == "k"]
        for index in np.ndindex(acc.shape):
            first = not command.accumulate and all(index[axis] == 0 for axis in k_axes)
            _accumulate(command, memories, act[index].reshape(1, 1), wgt[index].reshape(1, 1),
                        acc[index].reshape(1, 1), first)
    return acc.size


def _loop_kind(command: Product, loop: int) -> str:
    """k: contraction, m: rows (weights stay), n: outputs (activations stay), b: all move."""
    act, wgt, acc = (getattr(command, f"{name}{loop}_stride") for name in ("act", "wgt", "acc"))
    if acc == 0:
        return "k"
    return "m" if wgt == 0 else "n" if act == 0 else "b"


def _product_blocks(command: Product, memories: Memories, act: Ints, wgt: Ints, acc: Ints,
                    kinds: list[str]) -> None:
    """One matrix product for each combination of the indices of the b loops."""
    axes = {kind: [axis for axis in range(3) if kinds[axis] == kind] for kind in "mnkb"}
    for index in cartesian(*(range(act.shape[axis]) for axis in axes["b"])):
        at = dict(zip(axes["b"], index, strict=True))

        def pick(words: Ints, first: str, second: str, at: dict[int, int] = at) -> Ints:
            """Words over the loops of two kinds, flattened to two dimensions."""
            used = axes[first] + axes[second]
            view = words[tuple(slice(None) if axis in used else at.get(axis, 0)
                               for axis in range(3))]
            order = np.argsort(np.argsort(used))
            shape = (int(np.prod([words.shape[axis] for axis in axes[first]], dtype=int)), -1)
            return view.transpose(tuple(order)).reshape(shape)

        _accumulate(command, memories, pick(act, "m", "k"), pick(wgt, "n", "k"),
                    pick(acc, "m", "n"), not command.accumulate)


def _accumulate(command: Product, memories: Memories, act: Ints, wgt: Ints, acc: Ints,
                first: bool) -> None:
    """``acc (M, N) words (+)= act (M, K) words @ wgt (N, K) words``."""
    config = memories.config
    left = memories.act.view(np.uint8 if command.left_unsigned else np.int8)[act]   # (M, K, rows)
    right = memories.wgt.view(np.int8)[wgt]                               # (N, K, rows, cols)
    (m, k), n = act.shape, wgt.shape[0]
    left = left.reshape(m, k * config.rows)
    right = right.reshape(n, k * config.rows, config.cols).transpose(1, 0, 2)
    sums = numerics.matmul(left, right.reshape(k * config.rows, n * config.cols))
    old = 0 if first else memories.acc[acc]
    memories.acc[acc] = numerics.wrap32(old + sums.reshape(m, n, config.cols))


# Passes --------------------------------------------------------------------------------------

def _pass(command: Pass, memories: Memories) -> int:
    m, n = command.rows, command.beats * memories.config.lanes
    x1 = _addend(command, memories, _source(command, memories))
    x2 = _scale(command, memories, x1)
    x4 = _combine(command, memories, x2, _function(command, memories, x2))
    valid = _valid(command, m, n)
    if command.reduce != Reduce.NONE:
        memories.row[command.row_write:command.row_write + m] = _reduce(command, x4, valid)
    if command.sink != Sink.NONE:
        x5 = numerics.rounding_shift(x4, numerics.NARROW_SHIFT) if command.narrow else x4
        result = np.where(valid, np.clip(x5, *numerics.RANGES[Output(command.output)]), 0)
        _sink(command, memories, result)
    return command.rows * command.beats


def _source(command: Pass, memories: Memories) -> Ints:
    """Elements of the source, shape (rows, beats * lanes)."""
    lanes = memories.config.lanes
    words = addressing.source_words(command, memories.config)
    if command.source == Source.VEC:
        return memories.vec[words].astype(np.int64).reshape(command.rows, -1)
    parts = memories.config.cols // lanes
    split = memories.acc.reshape(-1, parts, lanes)
    return split[words, np.arange(command.beats) % parts].astype(np.int64).reshape(command.rows, -1)


def _constants(command: Pass, memories: Memories) -> Ints:
    """(bias word, scale word) of each column, shape (beats * lanes, 2)."""
    words = memories.const[command.const_base:command.const_base + command.beats]
    return words.astype(np.int64).reshape(-1, 2)


def _rows(command: Pass, memories: Memories) -> Ints:
    return memories.row[command.row_read:command.row_read + command.rows].astype(np.int64)[:, None]


def _addend(command: Pass, memories: Memories, x: Ints) -> Ints:
    if command.addend == Addend.COLUMN:
        return numerics.saturate(x + numerics.wrap32(_constants(command, memories)[:, 0]), 32)
    if command.addend == Addend.ROW:
        return numerics.saturate(x - numerics.wrap32(_rows(command, memories)), 32)
    return x


def _scale(command: Pass, memories: Memories, x: Ints) -> Ints:
    words = {Scale.NONE: None,
             Scale.TENSOR: numerics.scale_word(command.multiplier, command.shift),
             Scale.COLUMN: _constants(command, memories)[:, 1]
             if command.scale == Scale.COLUMN else None}[Scale(command.scale)]
    if command.row_scale:
        rows = _rows(command, memories)
        words = rows if words is None else numerics.combine_scales(words, rows)
    return x if words is None else numerics.scale(x, words)


def _function(command: Pass, memories: Memories, x: Ints) -> Ints:
    table = memories.tables[command.table]
    if command.function == Function.LINEAR:
        return numerics.table_linear(x, table)
    if command.function == Function.EXP2:
        return numerics.table_exp2(x, table)
    return x


def _combine(command: Pass, memories: Memories, x2: Ints, x3: Ints) -> Ints:
    if command.combine == Combine.NONE:
        return x3
    if command.combine == Combine.SELF:
        return numerics.multiply(x3, x2)
    if command.combine == Combine.SQUARE:
        return numerics.square(x3)
    words = addressing.stream_words(command)
    stream = memories.vec[words].astype(np.int64).reshape(command.rows, -1)
    if command.combine == Combine.ADD:
        return numerics.saturate(x3 + stream, 32)
    if command.combine == Combine.MULTIPLY:
        return numerics.multiply(x3, stream)
    return numerics.rotate(x3, stream)


def _valid(command: Pass, m: int, n: int) -> NDArray[np.bool_]:
    column = np.arange(n)[None, :]
    valid = np.broadcast_to(column < command.valid, (m, n))
    if command.causal:
        valid = valid & (column <= command.position + np.arange(m)[:, None])
    return valid


def _reduce(command: Pass, x: Ints, valid: NDArray[np.bool_]) -> Ints:
    function = {Reduce.MAX: numerics.reduce_max, Reduce.SUM: numerics.reduce_sum,
                Reduce.ABSMAX: numerics.reduce_absmax,
                Reduce.INDEX: numerics.reduce_index}[Reduce(command.reduce)]
    stored = {Scalar.NONE: lambda r: numerics.saturate(r, 32),
              Scalar.RECIPROCAL: numerics.reciprocal, Scalar.INVERSE_ROOT: numerics.inverse_root,
              Scalar.SCALE: numerics.number_scale, Scalar.MEAN: numerics.mean}
    return stored[Scalar(command.scalar)](function(x, valid)) & 0xFFFFFFFF


def _sink(command: Pass, memories: Memories, x: Ints) -> None:
    config, sink = memories.config, Sink(command.sink)
    words = addressing.sink_words(command, config)                        # (rows, beats)
    beats = x.reshape(command.rows, command.beats, config.lanes)
    if sink == Sink.VEC:
        memories.vec[words] = beats
        return
    granule = addressing.sink_granule(sink, config)
    places = (np.arange(command.beats) * config.lanes % granule)[:, None] + np.arange(config.lanes)
    folded = addressing.folded_rows(command, config)[:, None, None]
    data = (beats & 0xFF).astype(np.uint8)
    if sink == Sink.ACT:
        memories.act[words[:, :, None], places] = data
    elif sink == Sink.WGT_ROWS:
        memories.wgt[words[:, :, None], folded % config.rows, places] = data
    else:
        memories.wgt[words[:, :, None], places, folded % config.cols] = data

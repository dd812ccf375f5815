"""Products of a program without the weight tiles that hold only zeros.

The lowerings write products of whole matrices. This pass knows, command by command, which tiles of
weight memory were loaded with zeros, and splits products where leaving them out saves cycles.
"""
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from systolith.hw.config import Config, Region
from systolith.hw.isa import Command, Load, Pass, Product, Sink
from systolith.sw.compiler.zero_tiles import all_runs, segments
from systolith.sw.reference.addressing import loop_sum, sink_words
from systolith.sw.runtime.program import Section


class ZeroSkipper:
    """Follows what weight memory holds, and splits products.

    What a command before left in a tile is known where it is a load of the image; keys and values
    that passes write count as not zero.

    Parameters
    ----------
    config : Config
    sections : sequence of Section
        The image that the host writes before.
    """

    def __init__(self, config: Config, sections: Sequence[Section]):
        self._config = config
        self._size = config.word_bytes(Region.WGT)
        self._zero: NDArray[np.bool_] = np.zeros(config.wgt_depth, dtype=np.bool_)
        external = sorted((each for each in sections if each.memory == "ext"),
                          key=lambda each: each.offset)
        self._starts, self._external = [each.offset for each in external], external
        for section in sections:
            if section.memory == Region.WGT:
                self._write(section.offset, section.data)

    def fork(self) -> "ZeroSkipper":
        """A skipper for programs of which any may come next."""
        other = copy(self)
        other._zero = self._zero.copy()
        return other

    def skip(self, commands: Iterable[Command]) -> Iterator[Command]:
        """The same commands in an order in which they could run one by one, with products split."""
        for command in commands:
            if isinstance(command, Product):
                yield from self._split(command)
                continue
            if isinstance(command, Load) and command.region == Region.WGT:
                self._load(command)
            elif isinstance(command, Pass) and command.sink in (Sink.WGT_ROWS, Sink.WGT_LANES):
                self._zero[np.unique(sink_words(command, self._config))] = False
            yield command

    def _write(self, offset: int, data: bytes) -> None:
        """Bytes that go to weight memory from a byte offset on; parts of tiles count as not zero.
        """
        first, last = -(-offset // self._size), (offset + len(data)) // self._size
        self._zero[offset // self._size:-(-(offset + len(data)) // self._size)] = False
        if first < last:
            whole = np.frombuffer(data, np.int8, (last - first) * self._size,
                                  first * self._size - offset)
            self._zero[first:last] = ~whole.reshape(last - first, self._size).any(axis=1)

    def _load(self, command: Load) -> None:
        runs, size = command.rows, command.row_bytes
        if runs == 1 or command.stride == command.ext_stride == size:
            runs, size = 1, runs * size
        for run in range(runs):
            base = command.base + run * command.stride
            self._write(base, self._image(command.ext_base + run * command.ext_stride, size))

    def _image(self, start: int, size: int) -> bytes:
        """Bytes of external memory; where the image does not have them, bytes that are not zero."""
        place = bisect_right(self._starts, start) - 1
        if place >= 0:
            section = self._external[place]
            data = section.data[start - section.offset:start - section.offset + size]
            if len(data) == size:
                return data
        return b"\xff" * size

    def _split(self, command: Product) -> list[Command]:
        """A product whose innermost loop is the contraction and whose outermost one goes over the
        output tiles, in runs between the zeros; any other as it is."""
        if (command.wgt1_stride or command.acc0_stride or not command.acc2_stride
                or not command.acc1_stride):
            return [command]
        words = loop_sum(command, "wgt")[:, 0]                          # (count2, count0)
        zero = self._zero[words]
        if not zero.any():
            return [command]
        runs = all_runs(~zero, command.count1)
        return [replace(
            command, accumulate=int(command.accumulate or start > runs[first][0][0]),
            count0=end - start, count2=last - first, wgt_base=int(words[first, start]),
            act_base=command.act_base + start * command.act0_stride + first * command.act2_stride,
            acc_base=command.acc_base + first * command.acc2_stride)
            for first, last in segments(runs, (0, len(runs))) for start, end in runs[first]]


def skip_zero_tiles(commands: Iterable[Command], sections: Sequence[Section], config: Config
                    ) -> list[Command]:
    """The commands of one program with its image, see :class:`ZeroSkipper`."""
    return list(ZeroSkipper(config, sections).skip(commands))

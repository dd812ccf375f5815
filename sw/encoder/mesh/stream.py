"""Weights of a core's share: in the core from the start where they all fit, else loaded ahead of
their use, in small pieces between what the core sends.

The mover does one thing after the other. So a load is only written where what it overwrites has
been used already, and no more of them at once than external memory brings while the array works.
"""
from collections import deque
from collections.abc import Iterator

from systolith.hw.config import Config, Region
from systolith.hw.isa import Command, Load
from systolith.sw.compiler.allocate import NAMES, Buffer, CapacityError
from systolith.sw.compiler.fields import Span
from systolith.sw.compiler.image import Place
from systolith.sw.compiler.tokens import token_loads
from systolith.sw.compiler.window import Window
from systolith.sw.encoder.data import ProductBytes
from systolith.sw.encoder.mesh.plan import MeshPlan
from systolith.sw.encoder.plan import Slot
from systolith.sw.encoder.shared_image import SharedImage
from systolith.sw.encoder.stream import WeightStream
from systolith.sw.reference.encoder import QuantizedEncoder, QuantizedNorm
from systolith.sw.reference.numerics import exp2_table

#: Beats of a load at most: what is sent never waits longer for one.
LOAD_BEATS = 512


class MeshStream(WeightStream):
    """What one core of a mesh loads.

    Parameters
    ----------
    model : QuantizedEncoder
    plan : MeshPlan
    config : Config
    image : SharedImage
    texts : int
        How many a run has, one after the other.

    Attributes
    ----------
    settled : list of Load
        What the core loads once, before the first run.
    """

    def __init__(self, model: QuantizedEncoder, plan: MeshPlan, config: Config, image: SharedImage,
                 texts: int = 1):
        super().__init__(model, plan, config, image)
        self.share, self._slices = plan.share, [plan.share.of(layer) for layer in model.layers]
        self._windows = {region: Window(buffer) for region, buffer in plan.windows.items()}
        self._names = deque(self._order())
        self._bytes = {name: self._data(name) for name in self._names}
        self._queue: deque[tuple[str, Load]] = deque()
        self._budget = 0
        self.settled: list[Load] = []
        if self._fits():
            while self._next():
                pass
            self.settled = [load for _, load in self._queue]
            self._queue.clear()
        else:
            self._names *= texts

    # Loads -----------------------------------------------------------------------------------

    def start(self) -> Iterator[Command]:
        """What stays in the core."""
        plan = self.plan
        self.image.add("identity", plan.identity, self.data.identity())
        self.image.add("exp2", plan.table, exp2_table().astype("<i2").tobytes())
        yield from self._loads()

    def embedded(self, block: Span, base: int, x: Buffer) -> Iterator[Command]:
        """A load for each position of a block into the residual ``x`` (of token 0: the driver puts
        the token's address in), and positions to activation memory from word ``base`` on."""
        word = self.config.word_bytes(Region.VEC)
        row = self.tiles.width_beats * word
        yield from token_loads(self.words.offset, block[1] - block[0], row,
                               x.base * word + block[0] * row)
        yield from self.positions(block, base)

    def pooling(self) -> Iterator[Command]:
        """Constants of the end of a run."""
        plan, model = self.plan, self.model
        self.image.add("pool in", plan.pool_in, self.data.pool(model.pool_words))
        if self.share.leads:
            self.image.add("pool out", plan.pool_out, self.data.pool(model.unpool_words))
            self.image.load(plan.ones, self._ones, 0, plan.ones.words)
        yield from self._loads()

    def norm(self, number: int) -> int:
        return self.place(f"norm{number}").constants.base

    def ready(self, name: str) -> bool:
        """Whether the part of that name has a place, or can have one now."""
        while name not in self._places:
            if not self._next():
                return False
        return True

    def need(self, *names: str) -> Iterator[Command]:
        """All that is left of the loads of these parts.

        Raises
        ------
        CapacityError
            When there is no room for them beside what is in use.
        """
        for name in names:
            if not self.ready(name):
                size = ", ".join(f"{len(data)} bytes of {NAMES[region]} memory" for region, data in
                                 zip(self._windows, self._bytes[name], strict=True) if data)
                raise CapacityError(f"{name} needs {size} beside what is in use, but configuration "
                                    f"{self.config.name!r} has no more")
            while any(part == name for part, _ in self._queue):
                yield self._queue.popleft()[1]

    def done(self, *names: str) -> None:
        """These parts, the oldest ones, are not used by what follows."""
        if self.settled:
            return
        for name in names:
            if name != next(iter(self._places)):
                raise ValueError(f"{name} is not the oldest part, {next(iter(self._places))}")
            del self._places[name]
            for window in self._windows.values():
                window.release()

    def ahead(self, cycles: int) -> Iterator[Command]:
        """Loads that external memory does for this core while the array works so long."""
        self._budget = min(self._budget + cycles // self.config.cores, 4 * LOAD_BEATS)
        while self._next():
            pass
        while self._queue and self._budget > 0:
            load = self._queue.popleft()[1]
            self._budget -= load.rows * load.row_bytes // self.config.bus_bytes
            yield load

    # Places ----------------------------------------------------------------------------------

    def _fits(self) -> bool:
        parts = zip(*self._bytes.values(), strict=True)
        return all(sum(map(len, part)) <= window.buffer.words * self.config.word_bytes(region)
                   for (region, window), part in zip(self._windows.items(), parts, strict=True))

    def _next(self) -> bool:
        """Give the next part its place; False when there is none, no room, or the text before still
        uses its own."""
        if not self._names or self._names[0] in self._places:
            return False
        name = self._names[0]
        slot = self._take(name)
        if slot is None:
            return False
        self._names.popleft()
        self._places[name] = slot
        parts = zip(_buffers(slot), self._bytes[name], strict=True)
        for number, (buffer, data) in enumerate(parts):
            if data:
                owner = "" if name.startswith("norm") else f" of place {self.share.place}"
                place = self.image.write(f"{name} {number}{owner}", buffer, data)
                self._enqueue(name, buffer, place)
        return True

    def _enqueue(self, name: str, buffer: Buffer, place: Place) -> None:
        size = max(1, LOAD_BEATS * self.config.bus_bytes // self.config.word_bytes(buffer.region))
        for first in range(0, buffer.words, size):
            self.image.load(buffer, place, first, min(size, buffer.words - first))
        self._queue += [(name, load) for load in self._loads() if isinstance(load, Load)]

    def _take(self, name: str) -> Slot | None:
        buffers: list[Buffer] = []
        for (region, window), data in zip(self._windows.items(), self._bytes[name], strict=True):
            buffer = window.take(len(data) // self.config.word_bytes(region))
            if buffer is None:
                for taken, _ in zip(self._windows.values(), buffers, strict=False):
                    taken.undo()
                return None
            buffers.append(buffer)
        return Slot(weight=buffers[0], constants=buffers[1], vectors=buffers[2])

    # Bytes -----------------------------------------------------------------------------------

    def _order(self) -> Iterator[str]:
        """Parts in the order of their first use, which is that of their last use, too."""
        share, yes = self.share, self.share.heads[0] < self.share.heads[1]
        yield f"norm{2 * share.layers[0]}"
        for index in range(*share.layers):
            layer = self.model.layers[index]
            yield from (f"{kind}{index}" for kind in "kvq" if yes)
            yield from (f"out{index}", f"norm{2 * index + 1}")
            yield from (f"up{index}.{group}" for group in range(*share.groups))
            yield from (f"down{index}.{group}" for group in range(len(layer.groups)))
            yield f"norm{2 * index + 2}"

    def _data(self, name: str) -> ProductBytes:
        if name.startswith("norm"):
            return b"", self.data.norm(self._norm(int(name.removeprefix("norm")))), b""
        first, last = self.share.columns
        return self.data.product(name, self._slices, -(-(last - first) // self.config.lanes))

    def _norm(self, number: int) -> QuantizedNorm:
        if not number:
            return self.model.norm
        layer = self.model.layers[(number - 1) // 2]
        return layer.norm1 if number % 2 else layer.norm2


def _buffers(slot: Slot) -> tuple[Buffer, Buffer, Buffer]:
    return slot.weight, slot.constants, slot.vectors

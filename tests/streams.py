"""Drivers for ready/valid streams in cocotb, with random stalls from a reproducible seed."""
import os
import random
from collections.abc import Iterable

from amaranth.hdl import Const, Shape, ShapeCastable
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge


def pack(shape, value) -> int:
    """Bits of a value: an ``int`` for plain shapes, a dict or list for layouts, enum members."""
    if isinstance(shape, ShapeCastable):
        constant = Const.cast(shape.const(value))
        return constant.value & ((1 << len(constant)) - 1)
    return value & ((1 << Shape.cast(shape).width) - 1)


def unpack(shape, bits: int):
    """The value of bits, the inverse of :func:`pack`; a layout gives its constant view."""
    if isinstance(shape, ShapeCastable):
        return shape.from_bits(bits)
    return Const(bits, Shape.cast(shape)).value


class Stream:
    """Far end of a stream on the ports ``<prefix>__{payload,valid,ready}``.

    Parameters
    ----------
    dut : handle
        The top level, with a clock ``clk``.
    prefix : str
        Name of the stream.
    shape : shape-like, optional
        Payloads are packed into and unpacked from this shape; without, they are unsigned integers.
    """

    def __init__(self, dut, prefix: str, *, shape=None):
        self.payload, self.valid, self.ready = (
            dut[f"{prefix}__{name}"] for name in ("payload", "valid", "ready"))
        self._prefix, self._shape = prefix, shape
        self._edge = RisingEdge(dut.clk)
        self._random = random.Random(f"{prefix} {os.environ.get('COCOTB_RANDOM_SEED')}")

    def idle(self, *, source: bool) -> None:
        """Drive the initial level: call it before reset; ``source`` when the bench sends."""
        if source:
            self.payload.value = 0
            self.valid.value = 0
        else:
            self.ready.value = 0

    async def send(self, items: Iterable, *, stall: float = 0.0) -> None:
        """Send items in order. Before each, wait one more cycle with probability ``stall``."""
        for item in items:
            while self._random.random() < stall:
                await self._edge
            self.payload.value = item if self._shape is None else pack(self._shape, item)
            self.valid.value = 1
            await self._edge
            while not self.ready.value:
                await self._edge
            self.valid.value = 0

    async def receive(self, count: int, *, stall: float = 0.0) -> list:
        """Receive items. In each cycle, hold ``ready`` back with probability ``stall``.

        Raises
        ------
        AssertionError
            When the sender withdraws an offered item or changes it.
        """
        items: list = []
        offered = None
        while len(items) < count:
            ready = self._random.random() >= stall
            self.ready.value = ready
            await self._edge
            offered = self._observe(offered)
            if ready and offered is not None:
                items.append(offered if self._shape is None else unpack(self._shape, offered))
                offered = None
        self.ready.value = 0
        return items

    def _observe(self, offered: int | None) -> int | None:
        """The item on offer, checked against what was on offer and not taken one cycle ago."""
        now = int(self.payload.value) if self.valid.value else None
        assert offered is None or now == offered, (
            f"{self._prefix}: {offered:#x} was on offer and not taken, but next cycle there is "
            f"{'nothing' if now is None else hex(now)}")
        return now


async def reset(dut, *streams: Stream, sources: Iterable[Stream] = (), cycles: int = 2) -> None:
    """Start the clock (10 ns), idle all streams (``sources``: those the bench sends), reset.

    The positional ``streams`` are those on which the bench receives.
    """
    for stream in streams:
        stream.idle(source=False)
    for stream in sources:
        stream.idle(source=True)
    Clock(dut.clk, 10, unit="ns").start()
    dut.rst.value = 1
    await ClockCycles(dut.clk, cycles)
    dut.rst.value = 0

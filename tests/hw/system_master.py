"""Master on a system port in cocotb, which checks the port's rules in every cycle."""
import random
from collections import deque

from cocotb.triggers import RisingEdge

from systolith.hw.config import SYSTEM_READ_LATENCY


class SystemMaster:
    """Writes and reads bytes through the ports ``<prefix>__{valid,ready,…}``.

    Start :meth:`watch` to have answers collected: it fails when the answer of an accepted read
    is late, or when data other than 0 come in a cycle without an answer.
    """

    def __init__(self, dut, prefix: str, *, bus_bytes: int, latency: int = SYSTEM_READ_LATENCY):
        self._signals = {name: dut[f"{prefix}__{name}"] for name in (
            "valid", "ready", "write", "address", "mask", "data", "read_data")}
        self._edge = RisingEdge(dut.clk)
        self._random = random.Random(prefix)
        self._due: deque[bool] = deque([False] * latency)
        self.bus_bytes = bus_bytes
        self.answers: list[bytes] = []
        for name in ("valid", "write", "address", "mask", "data"):
            self._signals[name].value = 0

    async def watch(self):
        """Collect answers for ever."""
        signals = self._signals
        while True:
            await self._edge
            data = int(signals["read_data"].value)
            if self._due.popleft():
                self.answers.append(data.to_bytes(self.bus_bytes, "little"))
            else:
                assert data == 0, f"read_data is {data:#x} in a cycle without an answer"
            accepted = signals["valid"].value and signals["ready"].value
            self._due.append(bool(accepted and not signals["write"].value))

    async def write(self, address: int, data: bytes, *, mask: int | None = None, stall=0.0):
        """Write bytes, a multiple of the bus: those whose bit of ``mask`` is set, or all."""
        size = self.bus_bytes
        for start in range(0, len(data), size):
            part = (1 << size) - 1 if mask is None else mask >> start & (1 << size) - 1
            word = int.from_bytes(data[start:start + size], "little")
            await self._request(address + start, write=1, mask=part, data=word, stall=stall)

    async def read(self, address: int, count: int, *, stall=0.0) -> bytes:
        """Read bytes, a multiple of the bus. :meth:`watch` must be running."""
        first, number = len(self.answers), count // self.bus_bytes
        for start in range(0, count, self.bus_bytes):
            await self._request(address + start, write=0, mask=0, data=0, stall=stall)
        while len(self.answers) < first + number:
            await self._edge
        return b"".join(self.answers[first:])

    async def _request(self, address, *, stall, **fields):
        while self._random.random() < stall:
            await self._edge
        signals = self._signals
        for name, value in (("address", address), ("valid", 1), *fields.items()):
            signals[name].value = value
        await self._edge
        while not signals["ready"].value:
            await self._edge
        signals["valid"].value = 0

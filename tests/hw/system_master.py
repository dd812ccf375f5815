"""Master on a system port in cocotb, which checks the port's rules in every cycle."""
import random
from collections import deque

from cocotb.triggers import RisingEdge

from systolith.hw.config import SYSTEM_READ_LATENCY


class SystemMaster:
    """Writes and reads bytes through the ports ``<prefix>__{read,write}__{valid,ready,…}``.

    Start :meth:`watch` to have answers collected: it fails when the answer of an accepted read
    is late, or when data other than 0 come in a cycle without an answer.
    """

    def __init__(self, dut, prefix: str, *, bus_bytes: int, latency: int = SYSTEM_READ_LATENCY):
        self._read, self._write = (
            {name: dut[f"{prefix}__{way}__{name}"] for name in names} for way, names in (
                ("read", ("valid", "ready", "address", "data")),
                ("write", ("valid", "ready", "address", "mask", "data"))))
        self._edge = RisingEdge(dut.clk)
        self._random = random.Random(prefix)
        self._due: deque[bool] = deque([False] * latency)
        self.bus_bytes = bus_bytes
        self.answers: list[bytes] = []
        for signal in (self._read["valid"], self._read["address"], *(
                self._write[name] for name in ("valid", "address", "mask", "data"))):
            signal.value = 0

    async def watch(self):
        """Collect answers for ever."""
        signals = self._read
        while True:
            await self._edge
            data = int(signals["data"].value)
            if self._due.popleft():
                self.answers.append(data.to_bytes(self.bus_bytes, "little"))
            else:
                assert data == 0, f"read_data is {data:#x} in a cycle without an answer"
            self._due.append(bool(signals["valid"].value and signals["ready"].value))

    async def write(self, address: int, data: bytes, *, mask: int | None = None, stall=0.0):
        """Write bytes, a multiple of the bus: those whose bit of ``mask`` is set, or all."""
        size = self.bus_bytes
        for start in range(0, len(data), size):
            part = (1 << size) - 1 if mask is None else mask >> start & (1 << size) - 1
            word = int.from_bytes(data[start:start + size], "little")
            await self._request(self._write, address + start, mask=part, data=word, stall=stall)

    async def read(self, address: int, count: int, *, stall=0.0) -> bytes:
        """Read bytes, a multiple of the bus. :meth:`watch` must be running."""
        first, number = len(self.answers), count // self.bus_bytes
        for start in range(0, count, self.bus_bytes):
            await self._request(self._read, address + start, stall=stall)
        while len(self.answers) < first + number:
            await self._edge
        return b"".join(self.answers[first:])

    async def _request(self, signals, address, *, stall, **fields):
        while self._random.random() < stall:
            await self._edge
        for name, value in (("address", address), ("valid", 1), *fields.items()):
            signals[name].value = value
        await self._edge
        while not signals["ready"].value:
            await self._edge
        signals["valid"].value = 0

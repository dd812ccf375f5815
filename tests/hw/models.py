"""What surrounds the blocks of the control side, in Python: memories on the bus and outside."""
import random
from collections import deque

from cocotb.triggers import RisingEdge

from systolith.hw.config import SYSTEM_READ_LATENCY


class BusMemory:
    """Answers a bus master on the ports ``<prefix>__…``; ``content`` maps regions to bytes.

    Parameters
    ----------
    stall : float
        Probability of not being ready, each cycle.
    """

    def __init__(self, dut, prefix, content, *, bus_bytes, stall=0.0, seed=0):
        self._dut, self._prefix, self._bytes = dut, prefix, bus_bytes
        self.content, self.accesses = content, []
        self._stall, self._random = stall, random.Random(seed)
        self._port("ready").value = 0
        self._port("answer").value = 0
        self._port("read_data").value = 0

    def _port(self, name):
        return self._dut[f"{self._prefix}__{name}"]

    async def run(self):
        answers = deque([None] * (SYSTEM_READ_LATENCY - 1))
        while True:
            ready = self._random.random() >= self._stall
            self._port("ready").value = ready
            await RisingEdge(self._dut.clk)
            accepted = ready and bool(self._port("valid").value)
            answers.append(self._access() if accepted else None)
            answer = answers.popleft()
            self._port("answer").value = answer is not None
            # Nobody may look at the data when there is no answer.
            self._port("read_data").value = (
                self._random.getrandbits(8 * self._bytes) if answer is None else answer)

    def _access(self):
        region, address = (int(self._port(name).value) for name in ("region", "address"))
        memory = self.content[region]
        assert address % self._bytes == 0
        assert address + self._bytes <= len(memory), f"address {address} in region {region}"
        write = bool(self._port("write").value)
        self.accesses.append((write, region, address))
        if not write:
            return int.from_bytes(memory[address:address + self._bytes], "little")
        mask, data = (int(self._port(name).value) for name in ("mask", "data"))
        for place in range(self._bytes):
            if mask >> place & 1:
                memory[address + place] = data >> 8 * place & 255
        return None


class ExternalMemory:
    """External memory on the streams ``request``, ``write`` and ``read``, in order.

    Parameters
    ----------
    latency : int
        Cycles from a request to its answer, at least 1.
    stall : float
        Probability of holding back, each cycle and stream.
    """

    def __init__(self, dut, content, *, bus_bytes, latency=4, stall=0.0, seed=0):
        self._dut, self._bytes, self._latency = dut, bus_bytes, latency
        self.content, self.stall = content, stall
        self._random = random.Random(seed)
        self._requests, self._beats, self._answers = deque(), deque(), deque()
        self.answered = 0
        dut.request__ready.value = dut.write__ready.value = dut.read__valid.value = 0
        dut.read__payload.value = 0

    @property
    def idle(self):
        """Nothing is owed on either side."""
        return not (self._requests or self._beats or self._answers)

    def _free(self):
        return self._random.random() >= self.stall

    async def run(self):
        dut, cycle = self._dut, 0
        offered = False
        while True:
            ready = self._free(), self._free()
            dut.request__ready.value, dut.write__ready.value = ready
            if not offered and self._answers and self._answers[0][0] <= cycle and self._free():
                dut.read__payload.value, offered = self._answers[0][1], True
            dut.read__valid.value = offered
            await RisingEdge(dut.clk)
            cycle += 1
            if ready[0] and dut.request__valid.value:
                self._requests.append(int(dut.request__payload.value))
            if ready[1] and dut.write__valid.value:
                self._beats.append(int(dut.write__payload.value))
            if offered and dut.read__ready.value:
                self._answers.popleft()
                self.answered += 1
                offered = False
            self._serve(cycle)

    def _serve(self, cycle):
        while self._requests and (self._beats or not self._requests[0] >> 32):
            request = self._requests.popleft()
            address = request & 0xFFFFFFFF
            assert address % self._bytes == 0
            assert address + self._bytes <= len(self.content)
            place = slice(address, address + self._bytes)
            if request >> 32:
                self.content[place] = self._beats.popleft().to_bytes(self._bytes, "little")
            else:
                beat = int.from_bytes(self.content[place], "little")
                self._answers.append((cycle + self._latency - 1, beat))

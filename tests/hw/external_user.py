"""A user of external memory in cocotb, that knows what it must read."""
import random

from cocotb.triggers import gather

from systolith.hw.external import ExternalRequest
from tests.bench import Stream


class User:
    """Writes and reads ``beats`` of its own from ``base`` on, at random, and checks what it reads.

    Parameters
    ----------
    stall : float
        Probability of a cycle without effort, at each of its streams.
    """

    def __init__(self, dut, prefix, *, bus_bytes, base=0, beats=16, stall=0.0):
        self.request = Stream(dut, f"{prefix}__request", shape=ExternalRequest())
        self.write, self.read = Stream(dut, f"{prefix}__write"), Stream(dut, f"{prefix}__read")
        self._bus_bytes, self._base, self._beats, self._stall = bus_bytes, base, beats, stall
        self._random = random.Random(f"{prefix} {stall}")
        self._expected = []

    @property
    def sinks(self):
        """Streams on which this receives."""
        return [self.read]

    @property
    def sources(self):
        """Streams that this sends."""
        return [self.request, self.write]

    async def run(self, count):
        """So many accesses, the first to each address a write."""
        plan, known = [], {}
        for _ in range(count):
            address = self._base + self._bus_bytes * self._random.randrange(self._beats)
            write = address not in known or self._random.random() < 0.5
            if write:
                known[address] = self._random.getrandbits(8 * self._bus_bytes)
            else:
                self._expected.append(known[address])
            plan.append((address, write, known[address]))
        _, got = await gather(self._ask(plan),
                              self.read.receive(len(self._expected), stall=self._stall))
        assert got == self._expected
        return known

    async def _ask(self, plan):
        for address, write, beat in plan:
            request = self.request.send([{"address": address, "write": write}], stall=self._stall)
            if write:
                await gather(request, self.write.send([beat], stall=self._stall))
            else:
                await request

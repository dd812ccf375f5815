# amaranth: UnusedElaboratable=no
"""The host's accesses reach the core they name, and answers come back in their order."""
import random

import cocotb
from cocotb.triggers import RisingEdge, gather

from systolith.hw.config import CORE_SHIFT
from systolith.hw.host import HostRequest
from systolith.hw.host_router import HostRouter
from tests.bench import Stream, reset, simulate

CORES = 3
LIMIT = 1 << CORE_SHIFT


class Core:
    """Remembers what it was asked, and answers each read with its number and a count."""

    def __init__(self, dut, number, stall):
        self.request = Stream(dut, f"requests__{number}", shape=HostRequest())
        self.response = Stream(dut, f"responses__{number}")
        self.seen, self._number, self._stall, self._due = [], number, stall, []

    async def take(self, dut):
        reads = 0
        while True:
            request, = await self.request.receive(1, stall=self._stall)
            self.seen.append((request.write, request.address, request.data))
            if not request.write:
                self._due.append(self._number << 16 | reads)
                reads += 1

    async def answer(self, dut):
        while True:
            await RisingEdge(dut.clk)
            if self._due:
                await self.response.send([self._due.pop(0)], stall=self._stall)


async def started(dut, stall):
    cores = [Core(dut, number, stall) for number in range(CORES)]
    request, response = Stream(dut, "request", shape=HostRequest()), Stream(dut, "response")
    await reset(dut, response, *(core.request for core in cores),
                sources=[request, *(core.response for core in cores)])
    for core in cores:
        cocotb.start_soon(core.take(dut))
        cocotb.start_soon(core.answer(dut))
    return request, response, cores


@cocotb.test(timeout_time=400, timeout_unit="us")
@cocotb.parametrize(stall=[0, 0.5], host=[0, 0.5])
async def requests_and_answers_keep_their_order(dut, stall, host):
    rng = random.Random(5)
    request, response, cores = await started(dut, stall)
    # The last is a core that does not exist.
    accesses = [(rng.randrange(CORES + 1), int(rng.random() < 0.4), rng.randrange(LIMIT),
                 rng.getrandbits(32)) for _ in range(300)]
    asked = [{"write": write, "address": core * LIMIT + offset, "data": data}
             for core, write, offset, data in accesses]
    reads = [0] * CORES
    expected, seen = [], [[] for _ in range(CORES)]
    for core, write, offset, data in accesses:
        number, offset = (core, offset) if core < CORES else (0, core * LIMIT + offset)
        seen[number].append((write, offset, data))
        if not write:
            expected.append(number << 16 | reads[number])
            reads[number] += 1
    _, answers = await gather(request.send(asked, stall=host),
                              response.receive(len(expected), stall=host))
    for _ in range(40):
        await RisingEdge(dut.clk)
    assert answers == expected
    assert [core.seen for core in cores] == seen


@cocotb.test(timeout_time=20, timeout_unit="us")
async def a_write_a_cycle_to_any_core(dut):
    request, _, cores = await started(dut, 0)
    for core in cores:
        core.request.ready.value = 1
    start = cocotb.utils.get_sim_time("ns")
    await request.send([{"write": 1, "address": n % CORES * LIMIT, "data": n} for n in range(60)])
    assert cocotb.utils.get_sim_time("ns") - start <= 10 * 63


def test_host_router():
    simulate(HostRouter(cores=CORES), "host_router", __name__)

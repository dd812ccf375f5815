"""Hands the host's accesses to the cores."""
from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.config import CORE_SHIFT
from systolith.hw.host import HostRequest

#: Reads of one core that may be unanswered.
DUE = 8


class HostRouter(wiring.Component):
    """Sends each request to the core that its address names; answers come back in order.

    Combinational, one request a cycle. A request for another core waits until all reads are
    answered. Writes to one core are executed in order; those to another one may overtake the last
    one of them, so who needs an order between cores reads in between. A core that does not exist is
    a fault of core 0: it gets the request with the core's number in the address, all others get 0.

    Parameters
    ----------
    cores : int
        Number of cores.

    Members
    -------
    request : In(stream of HostRequest), response : Out(stream of 32 bits)
        The host.
    requests : Out(stream of HostRequest).array(cores), responses : In(stream).array(cores)
        The cores.
    """

    def __init__(self, *, cores):
        self._cores = cores
        request, response = stream.Signature(HostRequest()), stream.Signature(32)
        super().__init__({"request": In(request), "response": Out(response),
                          "requests": Out(request).array(cores),
                          "responses": In(response).array(cores)})

    def elaborate(self, platform):
        m = Module()
        number = self.request.p.address[CORE_SHIFT:]
        core = Signal(range(self._cores))
        exists = Signal()
        reader = Signal.like(core)
        due = Signal(range(DUE + 1))
        free = Signal()
        asked = Signal()
        answered = Signal()
        m.d.comb += [
            exists.eq(number < self._cores), core.eq(Mux(exists, number, 0)),
            free.eq((due == 0) | ((reader == core) & (due != DUE))),
            asked.eq(self.request.valid & self.request.ready & ~self.request.p.write),
            answered.eq(self.response.valid & self.response.ready),
        ]
        m.d.sync += due.eq(due + asked - answered)
        with m.If(asked):
            m.d.sync += reader.eq(core)
        for index, (request, response) in enumerate(zip(self.requests, self.responses,
                                                        strict=True)):
            m.d.comb += [request.payload.eq(self.request.payload),
                         request.valid.eq(self.request.valid & free & (core == index))]
            with m.If(exists):
                m.d.comb += request.p.address[CORE_SHIFT:].eq(0)
            with m.If(core == index):
                m.d.comb += self.request.ready.eq(request.ready & free)
            with m.If(reader == index):
                m.d.comb += [self.response.valid.eq(response.valid),
                             self.response.payload.eq(response.payload),
                             response.ready.eq(self.response.ready)]
        return m

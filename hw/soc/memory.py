"""A Wishbone master behind the chip's port to external memory."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.external_share import ExternalUser
from systolith.hw.soc.wishbone import Wishbone


def memory_bus(bus_bytes):
    """Signature of the bus to memory, for beats of so many bytes."""
    return Wishbone(data_bits=8 * bus_bytes, address_bits=32)


class WishboneMemory(wiring.Component):
    """Reads and writes beats in the system's memory, one at a time.

    Classic cycles: ``cyc`` and ``stb`` stay until ``ack`` or ``err``. The next access begins in the
    cycle after the end of one, so a beat takes as many cycles as the memory: at least one.

    A beat that the memory refuses with ``err`` counts as done, and reads as whatever is on
    ``dat_r``: the chip's port knows no errors. ``error`` tells it.

    Parameters
    ----------
    bus_bytes : int
        Bytes of a beat, the width of the bus.

    Members
    -------
    user : In(ExternalUser)
        The chip.
    bus : Out(Wishbone)
        The system.
    base : In(32)
        Byte address in the system of the chip's external memory, a multiple of its size. Constant.
    error : Out(1)
        An access has been refused; stays until the reset.
    """

    def __init__(self, *, bus_bytes):
        self._bus_bytes = bus_bytes
        super().__init__({
            "user": In(ExternalUser(bus_bytes=bus_bytes)),
            "bus": Out(memory_bus(bus_bytes)),
            "base": In(32), "error": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        request, write, read, bus = self.user.request, self.user.write, self.user.read, self.bus
        ended, free = Signal(), Signal()
        m.d.comb += [
            # A read waits for the place of its answer, so that it need not be held back later.
            free.eq(~read.valid | read.ready),
            bus.stb.eq(request.valid & Mux(request.p.write, write.valid, free)),
            bus.cyc.eq(bus.stb), bus.we.eq(request.p.write), bus.sel.eq(~0),
            bus.adr.eq((self.base | request.p.address)[(self._bus_bytes - 1).bit_length():]),
            bus.dat_w.eq(write.payload),
            ended.eq(bus.stb & (bus.ack | bus.err)),
            request.ready.eq(ended), write.ready.eq(ended & bus.we),
        ]
        m.d.sync += self.error.eq(self.error | (bus.stb & bus.err))
        with m.If(ended & ~bus.we):
            m.d.sync += [read.valid.eq(1), read.payload.eq(bus.dat_r)]
        with m.Elif(read.ready):
            m.d.sync += read.valid.eq(0)
        return m

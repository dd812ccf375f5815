"""A Wishbone slave in front of the chip's host port."""
from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.config import CORE_SHIFT
from systolith.hw.host import HostRequest, allowed
from systolith.hw.soc.wishbone import Wishbone

#: Bytes a word.
WORD_BYTES = 4


def window_bits(config):
    """Width of the byte addresses of a chip, all cores included."""
    return CORE_SHIFT + (config.cores - 1).bit_length()


def host_bus(config):
    """Signature of the bus to a chip."""
    return Wishbone(data_bits=8 * WORD_BYTES, address_bits=window_bits(config), stall=True)


class WishboneHost(wiring.Component):
    """Turns Wishbone accesses of 32 bits into requests of the host, one at a time.

    For classic masters, and for pipelined ones, whom it stalls until an access ends. A write ends
    in the cycle in which the host port takes it, which is the one after its first; a read 5
    (register) or 6 (memory) cycles after its first, when nothing waits. ``ack`` and ``err`` need no
    answer of the master: they are there for one cycle.

    An access that the host port would report as a fault ends with ``err`` instead, one cycle after
    its first, and so does a write of less than a word. It does not reach the chip, so a stray
    access of the system stops no core. Only a word for a full queue is a fault nevertheless: what
    is in the queues shows when it gets there.

    A master may give up by ending ``cyc`` or ``stb``. The host port executes what it has been
    given, and the bridge drops the answer before it begins the next access.

    Parameters
    ----------
    config : :class:`Config`
        Sizes of the memories, number of cores.

    Members
    -------
    bus : In(Wishbone)
        The system's master. Byte addresses are those of the host port.
    request : Out(stream of HostRequest), response : In(stream of 32 bits)
        The chip, see :class:`HostPort`.
    """

    def __init__(self, *, config):
        self._config = config
        super().__init__({
            "bus": In(host_bus(config)),
            "request": Out(stream.Signature(HostRequest())),
            "response": In(stream.Signature(32)),
        })

    def elaborate(self, platform):
        m = Module()
        bus, access = self.bus, Signal(HostRequest())
        active, gone, done = (Signal(name=name) for name in ("active", "gone", "done"))
        m.d.comb += [
            active.eq(bus.cyc & bus.stb),
            access.address.eq(bus.adr << (WORD_BYTES - 1).bit_length()),
            access.write.eq(bus.we), access.data.eq(bus.dat_w),
            bus.ack.eq(done & active & ~gone), bus.stall.eq(bus.cyc & ~(bus.ack | bus.err)),
            bus.dat_r.eq(self.response.payload),
        ]
        good = Signal()
        m.d.comb += good.eq(allowed(m, self._config, access)
                            & (access.address[CORE_SHIFT:] < self._config.cores)
                            & (~bus.we | bus.sel.all()))
        m.d.sync += gone.eq(gone | ~active)
        with m.FSM():
            with m.State("IDLE"):
                m.d.sync += [self.request.payload.eq(access), gone.eq(0)]
                with m.If(active & good):
                    m.next = "REQUEST"
                with m.Elif(active):
                    m.next = "REFUSE"
            with m.State("REFUSE"):
                m.d.comb += bus.err.eq(active)
                m.next = "IDLE"
            with m.State("REQUEST"):
                m.d.comb += [self.request.valid.eq(1),
                             done.eq(self.request.ready & self.request.p.write)]
                with m.If(self.request.ready):
                    m.next = "ANSWER"
                    with m.If(self.request.p.write):
                        m.next = "IDLE"
            with m.State("ANSWER"):
                m.d.comb += [self.response.ready.eq(1), done.eq(self.response.valid)]
                with m.If(done):
                    m.next = "IDLE"
        return m

"""The machine: everything that a board has in its FPGA behind clock, reset and pins."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect

from systolith.hw.buffer import Buffer
from systolith.hw.chip import Chip
from systolith.hw.config import ADDRESS_BITS, EXTERNAL_BIT, ConfigError
from systolith.hw.external_buffer import ExternalBuffer
from systolith.hw.external_ram import ExternalRam
from systolith.hw.external_share import ExternalShare
from systolith.hw.host import HostRequest
from systolith.hw.link.beats import Beats
from systolith.hw.link.link import Link
from systolith.hw.link.port import Access

#: Name of the top module where the machine is simulated by itself.
TOP = "machine"

#: Members of a memory that lead out of the FPGA.
OUTSIDE = ("pins", "data")


class Machine(wiring.Component):
    """The chip, its external memory, and the link that brings a host to both.

    A RESET of the link resets all but the link; memories keep their content.

    Parameters
    ----------
    config : :class:`Config`
        All sizes of the chip.
    clock_hz, baud : number
        Clock, and bits a second of the UART.
    memory : wiring.Component, optional
        External memory, with members ``user`` and ``forget`` as those of :class:`ExternalRam`,
        and its ``size`` in bytes. It is not reset with the chip: a memory of its own has to be
        refreshed. By default block RAM of ``ext_bytes``.
    ext_bytes : int
        Bytes of block RAM that serve as external memory. A compact core has its own inside.
    vendor : bool
        See :class:`Chip`.

    Members
    -------
    rx : In(1), tx : Out(1)
        UART, in step with the clock.
    fault : Out(1)
        The chip's host port does not answer.
    pins, data
        Those of ``memory``, where it has any: to a chip beside the FPGA.

    Raises
    ------
    ConfigError
        When the chip has several cores.
    ValueError
        When the clock does not give the baud rate, or ``ext_bytes`` is no power of two.
    """

    def __init__(self, *, config, clock_hz, baud, memory=None, ext_bytes=1 << 16,
                 vendor=False):
        if config.cores > 1:
            raise ConfigError(f"{config.name!r} has {config.cores} cores, but a board has one")
        self._config, self._vendor = config, vendor
        self._memory, outside = None, {}
        if config.compact:
            ext_bytes = config.ext_bytes
        else:
            self._memory = memory or ExternalRam(bus_bytes=config.bus_bytes, size=ext_bytes)
            ext_bytes, outside = self._memory.size, self._memory.signature.members
        self._link = Link(clock_hz=clock_hz, baud=baud, ext_bytes=ext_bytes,
                          bus_bytes=config.bus_bytes)
        super().__init__({"rx": In(1, init=1), "tx": Out(1, init=1), "fault": Out(1),
                          **{name: outside[name] for name in OUTSIDE if name in outside}})

    def elaborate(self, platform):
        m = Module()
        m.submodules.link = link = self._link
        m.d.comb += [link.rx.eq(self.rx), self.tx.eq(link.tx), self.fault.eq(link.dead)]
        if self._config.compact:
            self._compact(m, link)
            return m
        bus_bytes = self._config.bus_bytes
        chip, beats, share = (Chip(config=self._config), Beats(bus_bytes=bus_bytes),
                              ExternalShare(bus_bytes=bus_bytes))
        m.submodules.memory = memory = self._memory
        m.d.comb += memory.forget.eq(link.reset)
        for name in OUTSIDE:
            if name in self.signature.members:
                flow = self.signature.members[name].flow
                ours, theirs = getattr(self, name), getattr(memory, name)
                m.d.comb += ours.eq(theirs) if flow is Out else theirs.eq(ours)
        # Whether a memory chip has room is known late.
        buffer = ExternalBuffer(bus_bytes=bus_bytes)
        blocks = {"chip": chip, "beats": beats, "share": share, "buffer": buffer}
        for name, block in blocks.items():
            m.submodules[name] = ResetInserter(link.reset)(block)
        for name in ("request", "write"):
            connect(m, getattr(chip, f"ext_{name}"), getattr(share.chip, name))
            connect(m, getattr(beats, name), getattr(share.link, name))
        connect(m, share.chip.read, chip.ext_read)
        connect(m, share.link.read, beats.read)
        connect(m, share.memory, buffer.user)
        connect(m, buffer.memory, memory.user)
        # Whether memory or the chip's bus is free is known late.
        accesses, requests = Buffer(shape=Access()), Buffer(shape=HostRequest())
        for name, block in (("accesses", accesses), ("requests", requests)):
            m.submodules[name] = ResetInserter(link.reset)(block)
        connect(m, link.port.request, accesses.i)
        connect(m, requests.o, chip.host_request)
        self._route(m, accesses.o, link.port.response, requests.i, chip.host_response, beats.port)
        return m

    def _compact(self, m, link):
        """All memories are inside the chip, external memory under a bit of the address."""
        # What decides on a reset comes late in its cycle, and a reset goes far.
        reset = Signal()
        m.d.sync += reset.eq(link.reset)
        m.submodules.chip = chip = ResetInserter(reset)(
            Chip(config=self._config, vendor=self._vendor))
        request, host = link.port.request, chip.host_request
        m.d.comb += [
            host.valid.eq(request.valid), host.p.write.eq(request.p.write),
            host.p.data.eq(request.p.data), request.ready.eq(host.ready),
            host.p.address.eq(Mux(request.p.external, request.p.address[:EXTERNAL_BIT]
                                  | 1 << EXTERNAL_BIT, request.p.address[:ADDRESS_BITS])),
        ]
        connect(m, chip.host_response, link.port.response)

    def _route(self, m, request, response, chip_request, chip_response, external):
        """To the chip or to external memory; the link has one read under way at a time."""
        selected = request.p.external
        m.d.comb += [
            chip_request.valid.eq(request.valid & ~selected),
            chip_request.p.write.eq(request.p.write),
            chip_request.p.address.eq(request.p.address[:ADDRESS_BITS]),
            chip_request.p.data.eq(request.p.data),
            external.request.valid.eq(request.valid & selected),
            external.request.payload.eq(request.payload),
            request.ready.eq(Mux(selected, external.request.ready, chip_request.ready)),
            response.valid.eq(external.response.valid | chip_response.valid),
            response.payload.eq(Mux(external.response.valid, external.response.payload,
                                    chip_response.payload)),
            external.response.ready.eq(response.ready),
            chip_response.ready.eq(response.ready),
        ]

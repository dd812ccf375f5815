"""CRC-32, a bit a cycle."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.frames import CRC_POLYNOMIAL


class Crc(wiring.Component):
    """The register of the CRC over bytes. A byte takes eight cycles; a UART brings none faster.

    Members
    -------
    restart : In(1)
        Forget all bytes.
    valid : In(1), data : In(8)
        The next byte, not while ``busy``.
    busy : Out(1)
        A byte is being worked in.
    value : Out(32)
        The register, not inverted.
    """

    def __init__(self):
        super().__init__({"restart": In(1), "valid": In(1), "data": In(8), "busy": Out(1),
                          "value": Out(32, init=0xFFFFFFFF)})

    def elaborate(self, platform):
        m = Module()
        bits = Signal(8)
        left = Signal(range(9))
        m.d.comb += self.busy.eq(left != 0)
        with m.If(self.restart):
            m.d.sync += [self.value.eq(0xFFFFFFFF), left.eq(0)]
        with m.Elif(self.valid):
            m.d.sync += [bits.eq(self.data), left.eq(8)]
        with m.Elif(self.busy):
            odd = self.value[0] ^ bits[0]
            m.d.sync += [self.value.eq((self.value >> 1) ^ Mux(odd, CRC_POLYNOMIAL, 0)),
                         bits.eq(bits >> 1), left.eq(left - 1)]
        return m

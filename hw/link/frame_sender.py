"""Puts words into frames."""
from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.frames import ESCAPE, FLAG, FLIP
from systolith.hw.link.crc import Crc


class AnswerWord(data.StructLayout):
    """A word of a frame. ``last``: the CRC follows. ``spoiled``: with a wrong CRC."""

    def __init__(self):
        super().__init__({"data": 32, "last": 1, "spoiled": 1})


class FrameSender(wiring.Component):
    """Makes a frame of the words up to one that is ``last``: flag, bytes, CRC, flag.

    Members
    -------
    i : In(stream of AnswerWord)
        Taken when its last byte has been.
    o : Out(stream of 8 bits)
        Bytes for the line.
    """

    def __init__(self):
        super().__init__({"i": In(stream.Signature(AnswerWord())), "o": Out(stream.Signature(8))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.crc = crc = Crc()
        index, escaped, spoiled = Signal(2), Signal(), Signal()
        word, byte = Signal(32), Signal(8)
        special, done = Signal(), Signal()
        m.d.comb += [
            byte.eq(word.word_select(index, 8)),
            special.eq((byte == FLAG) | (byte == ESCAPE)),
            # The last cycle of a byte, its second where it needs two.
            done.eq(self.o.valid & self.o.ready & (escaped | ~special)),
        ]
        with m.FSM():
            with m.State("FLAG"):
                m.d.comb += [crc.restart.eq(1), self.o.valid.eq(self.i.valid),
                             self.o.payload.eq(FLAG)]
                with m.If(self.i.valid & self.o.ready):
                    m.next = "WORDS"
            with m.State("WORDS"):
                m.d.comb += [word.eq(self.i.p.data), self.o.valid.eq(self.i.valid & ~crc.busy),
                             crc.valid.eq(done), crc.data.eq(byte),
                             self.i.ready.eq(done & (index == 3))]
                self._bytes(m, byte, special, escaped, index, done)
                with m.If(self.i.ready & self.i.p.last):
                    m.d.sync += spoiled.eq(self.i.p.spoiled)
                    m.next = "CRC"
            with m.State("CRC"):
                m.d.comb += [word.eq(Mux(spoiled, crc.value, ~crc.value)),
                             self.o.valid.eq(~crc.busy)]
                self._bytes(m, byte, special, escaped, index, done)
                with m.If(done & (index == 3)):
                    m.next = "END"
            with m.State("END"):
                m.d.comb += [self.o.valid.eq(1), self.o.payload.eq(FLAG)]
                with m.If(self.o.ready):
                    m.next = "FLAG"
        return m

    def _bytes(self, m, byte, special, escaped, index, done):
        """Offer the byte, first its escape where it is special."""
        m.d.comb += self.o.payload.eq(
            Mux(escaped, byte ^ FLIP, Mux(special, ESCAPE, byte)))
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += [escaped.eq(special & ~escaped), index.eq(index + done)]

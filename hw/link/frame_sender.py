"""Puts words into frames."""
from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.frames import ESCAPE, FLAG, FLIP
from systolith.hw.link.crc import Crc
from systolith.hw.link.stage import Stage


class AnswerWord(data.StructLayout):
    """A word of a frame. ``last``: the CRC follows. ``spoiled``: with a wrong CRC."""

    def __init__(self):
        super().__init__({"data": 32, "last": 1, "spoiled": 1})


class PlainByte(data.StructLayout):
    """A byte that is not escaped yet, or a flag."""

    def __init__(self):
        super().__init__({"data": 8, "flag": 1})


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
        # What the states decide comes late in its cycle, as does what is escaped.
        m.submodules.stage = stage = Stage(shape=PlainByte())
        index = Signal(2)
        spoiled = Signal()
        word = Signal(32)
        plain = stage.i
        done = Signal()
        m.d.comb += [done.eq(plain.valid & plain.ready),
                     plain.p.data.eq(word.word_select(index, 8))]
        with m.FSM():
            with m.State("FLAG"):
                m.d.comb += [crc.restart.eq(1), plain.valid.eq(self.i.valid), plain.p.flag.eq(1)]
                with m.If(done):
                    m.next = "WORDS"
            with m.State("WORDS"):
                m.d.comb += [word.eq(self.i.p.data), plain.valid.eq(self.i.valid & ~crc.busy),
                             crc.valid.eq(done), crc.data.eq(plain.p.data),
                             self.i.ready.eq(done & (index == 3))]
                m.d.sync += index.eq(index + done)
                with m.If(self.i.ready & self.i.p.last):
                    m.d.sync += spoiled.eq(self.i.p.spoiled)
                    m.next = "CRC"
            with m.State("CRC"):
                m.d.comb += [word.eq(Mux(spoiled, crc.value, ~crc.value)),
                             plain.valid.eq(~crc.busy)]
                m.d.sync += index.eq(index + done)
                with m.If(done & (index == 3)):
                    m.next = "END"
            with m.State("END"):
                m.d.comb += [plain.valid.eq(1), plain.p.flag.eq(1)]
                with m.If(done):
                    m.next = "FLAG"
        self._escape(m, stage.o)
        return m

    def _escape(self, m, plain):
        """A flag, or a byte, first its escape where it is special."""
        special = Signal()
        escaped = Signal()
        byte = plain.p.data
        m.d.comb += [
            special.eq(~plain.p.flag & ((byte == FLAG) | (byte == ESCAPE))),
            self.o.valid.eq(plain.valid),
            self.o.payload.eq(Mux(escaped, byte ^ FLIP, Mux(special, ESCAPE, byte))),
            plain.ready.eq(self.o.ready & (escaped | ~special)),
        ]
        with m.If(plain.p.flag):
            m.d.comb += self.o.payload.eq(FLAG)
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += escaped.eq(special & ~escaped)

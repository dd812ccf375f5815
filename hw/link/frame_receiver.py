"""Finds frames among received bytes and checks them."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from systolith.hw.frames import (
    CRC_RESIDUE,
    ESCAPE,
    FLAG,
    FLIP,
    MAX_WORDS,
    REQUEST_HEADER,
    SILENCE_BITS,
)
from systolith.hw.link.baud import PHASE_BITS
from systolith.hw.link.crc import Crc
from systolith.hw.memory import MemoryWrite

#: Words of the longest frame, its CRC included, and those of the buffer: block RAMs have that many.
FRAME_WORDS = REQUEST_HEADER + MAX_WORDS + 1
BUFFER_WORDS = 256


class FrameReceiver(wiring.Component):
    """Writes the words of a frame into a buffer; tells of frames whose length and CRC are right.

    Whatever else comes, garbage, a cut or a damaged frame, is dropped without a word, at the next
    flag or after ``SILENCE_BITS`` without a byte.

    Parameters
    ----------
    step : int
        From :func:`~systolith.hw.link.baud.baud_step`.

    Members
    -------
    valid : In(1), data : In(8), broken : In(1)
        Bytes, as of :class:`UartReceiver`; at least 9 cycles lie between two.
    busy : In(1)
        The data words of an earlier frame are still needed: a frame that would overwrite them is
        dropped. Header words are not protected.
    buffer : Out(MemoryWrite)
        Words of the frame from address 0 on.
    frame : Out(1), words : Out(8)
        A good frame of so many words, the CRC not counted, is in the buffer.
    """

    def __init__(self, *, step):
        self._silence = ceil_log2(SILENCE_BITS * (1 << PHASE_BITS) // step)
        super().__init__({
            "valid": In(1), "data": In(8), "broken": In(1), "busy": In(1),
            "buffer": Out(MemoryWrite(BUFFER_WORDS, 32, 8)),
            "frame": Out(1), "words": Out(range(BUFFER_WORDS)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.crc = crc = Crc()
        escaped, bad = Signal(), Signal()
        count = Signal(range(4 * BUFFER_WORDS))  # bytes, those of the CRC included
        ends, takes, byte, quiet = Signal(), Signal(), Signal(8), self._quiet(m)
        # A byte, and what it is, a cycle later: much hangs on it.
        valid, broken, data = Signal(), Signal(), Signal(8)
        flag, escape = Signal(), Signal()
        m.d.sync += [valid.eq(self.valid), broken.eq(self.broken), data.eq(self.data),
                     flag.eq(self.data == FLAG), escape.eq(self.data == ESCAPE)]
        m.d.comb += [
            ends.eq((valid & flag) | quiet), takes.eq(valid & ~flag & (escaped | ~escape)),
            byte.eq(Mux(escaped, data ^ FLIP, data)),
            crc.restart.eq(ends), crc.valid.eq(takes), crc.data.eq(byte),
            self.buffer.address.eq(count[2:]), self.buffer.data.eq(byte.replicate(4)),
            self.words.eq(count[2:] - 1),
            self.frame.eq(valid & flag & ~bad & ~escaped & (count[:2] == 0)
                          & (crc.value == CRC_RESIDUE) & (count != 0)),
        ]
        full = (count == 4 * FRAME_WORDS) | (self.busy & (count[2:] >= REQUEST_HEADER))
        with m.If(ends):
            m.d.sync += [count.eq(0), bad.eq(0), escaped.eq(0)]
        with m.Elif(takes):
            m.d.sync += escaped.eq(0)
            with m.If(full):
                m.d.sync += bad.eq(1)
            with m.Else():
                m.d.comb += self.buffer.mask.eq(1 << count[:2])
                m.d.sync += count.eq(count + 1)
        with m.Elif(valid):
            m.d.sync += escaped.eq(1)
        with m.If(broken):
            m.d.sync += bad.eq(1)
        return m

    def _quiet(self, m):
        """No byte came for the time of silence."""
        waited = Signal(self._silence + 1)
        m.d.sync += waited.eq(Mux(self.valid | waited[-1], 0, waited + 1))
        return waited[-1]

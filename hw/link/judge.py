"""Decides what is done with a request."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.frames import MAX_WORDS, REQUEST_HEADER, Operation, Space, Status


class Judge(wiring.Component):
    """Checks the header of a request; the verdict is there one cycle after the header.

    Parameters
    ----------
    bus_bytes : int
        External memory is reached in whole beats of so many bytes.

    Members
    -------
    operation : In(len(Operation))
        Bit i: the i-th :class:`Operation`; none for one that is unknown.
    space : In(8), words : In(8), address : In(32)
        Of the header.
    length : In(8)
        Words of the frame, the CRC not counted.
    ours : In(1)
        Its session is the open one.
    fresh : In(1), repeated : In(1)
        Its sequence number is the expected one; is the one before.
    dead : In(1)
        The chip's port does not answer.
    status : Out(8)
        The answer's status.
    execute : Out(1)
        Do it; else only answer.
    advance : Out(1)
        The next sequence number is expected from now on.
    has_data : Out(1)
        The answer has data words.
    """

    def __init__(self, *, bus_bytes):
        self._bus_bytes = bus_bytes
        super().__init__({
            "operation": In(len(Operation)), "space": In(8), "words": In(8), "address": In(32),
            "length": In(8), "ours": In(1), "fresh": In(1), "repeated": In(1), "dead": In(1),
            "status": Out(Status), "execute": Out(1), "advance": Out(1), "has_data": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        hello, write, read, echo, reset = self.operation
        reaches, reads = write | read, read | echo
        known = hello | reaches | echo | reset
        sent = Mux(write | echo, self.words, 0)
        sized = Mux(reaches | echo, (self.words != 0) & (self.words <= MAX_WORDS), 1)
        fits = known & sized & (self.length == REQUEST_HEADER + sent) & self._reachable()
        hello, reads = self._known(m, hello=hello, reads=reads)
        good, ours, dead, fresh, repeated = self._known(
            m, good=fits, ours=self.ours, dead=reaches & self.dead, fresh=self.fresh,
            repeated=self.repeated)
        with m.If(~good):
            m.d.comb += self.status.eq(Status.REQUEST)
        with m.Elif(hello):
            m.d.comb += [self.execute.eq(1), self.advance.eq(1)]
        with m.Elif(~ours):
            m.d.comb += self.status.eq(Status.SESSION)
        with m.Elif(dead):
            m.d.comb += self.status.eq(Status.DEAD)
        with m.Elif(fresh):
            m.d.comb += [self.execute.eq(1), self.advance.eq(1)]
        with m.Elif(repeated):
            # Reading again is harmless, and spares the memory for the answer.
            m.d.comb += self.execute.eq(reads)
        with m.Else():
            m.d.comb += self.status.eq(Status.SEQUENCE)
        m.d.comb += self.has_data.eq(self.execute & (reads | hello))
        return m

    def _known(self, m, **facts):
        """Registers of single bits."""
        registers = [Signal(name=f"is_{name}") for name in facts]
        m.d.sync += [register.eq(fact) for register, fact in zip(registers, facts.values(),
                                                                 strict=True)]
        return registers

    def _reachable(self):
        """Words are aligned, and external memory is asked for whole beats."""
        low = self._bus_bytes - 1
        beats = ((self.address & low) == 0) & ((self.words & (low >> 2)) == 0)
        external, fixed = ((self.space & flag) != 0 for flag in Space)
        return (self.space < 4) & Mux(external, beats & ~fixed, self.address[:2] == 0)

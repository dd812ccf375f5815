"""Executes requests one after another, and answers each."""
from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from systolith.hw.frames import (
    DEAD_CYCLES,
    MAX_WORDS,
    PROTOCOL,
    REQUEST_HEADER,
    Operation,
    Space,
    Status,
)
from systolith.hw.link.frame_receiver import BUFFER_WORDS
from systolith.hw.link.frame_sender import AnswerWord
from systolith.hw.link.judge import Judge
from systolith.hw.link.port import AccessPort
from systolith.hw.memory import MemoryRead


class Executor(wiring.Component):
    """Takes a frame out of the buffer, does what it asks for, and sends the answer.

    Two cycles a word written. A frame whose end comes while another is being executed or answered
    is lost; an answer without data is no longer than the shortest request.

    Parameters
    ----------
    ext_bytes : int
        Bytes of external memory, a power of two, or 0; the answer to HELLO tells.
    bus_bytes : int
        Bytes of a beat of external memory; the answer to HELLO tells.

    Members
    -------
    frame : In(1), words : In(8)
        A good frame of so many words is in the buffer.
    busy : Out(1)
        The data words in the buffer are being read.
    buffer : Out(MemoryRead)
        The frame.
    answer : Out(stream of AnswerWord)
        Answers.
    port : Out(AccessPort)
        Chip and external memory.
    reset : Out(1)
        Reset what is behind the port.
    dead : Out(1)
        The port made no progress for ``DEAD_CYCLES`` and has not been reset since.
    """

    def __init__(self, *, ext_bytes, bus_bytes):
        self._ext_log2 = exact_log2(ext_bytes) if ext_bytes else 0
        self._bus_bytes = bus_bytes
        super().__init__({
            "frame": In(1), "words": In(8), "busy": Out(1),
            "buffer": Out(MemoryRead(BUFFER_WORDS, 32)),
            "answer": Out(stream.Signature(AnswerWord())),
            "port": Out(AccessPort()), "reset": Out(1), "dead": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        self._signals()
        m.submodules.judge = judge = self._judge(m)
        self._access(m)
        with m.FSM() as machine:
            self._take(m)
            self._decide(m, judge)
            self._write(m)
            self._answer(m)
            self._read(m)
            # An answer without data does not need the buffer any more.
            m.d.comb += self.busy.eq(
                machine.ongoing("FETCH") | machine.ongoing("WRITE")
                | (~machine.ongoing("IDLE") & self._is[Operation.ECHO]))
        return m

    def _signals(self):
        self._operation, self._space = Signal(8), Signal(len(Space))
        # What it is, from the cycle before the judgement on: much hangs on it.
        self._is = {each: Signal(name=f"is_{each.name.lower()}") for each in Operation}
        self._sequence, self._next = Signal(8), Signal(8)
        self._session, self._address = Signal(32), Signal(32)
        self._shown = Signal(32)  # the session that the frame names
        self._left, self._length = Signal(8), Signal(8)
        self._status = Signal(Status)
        self._has_data = Signal()
        self._place = Signal(range(BUFFER_WORDS))  # in the buffer
        self._strange = Signal()  # a bit of the space that means nothing is set
        self._waiting, self._late = Signal(), Signal()

    def _judge(self, m):
        judge = Judge(bus_bytes=self._bus_bytes)
        m.d.sync += [known.eq(self._operation == each) for each, known in self._is.items()]
        m.d.comb += [
            judge.operation.eq(Cat(self._is.values())), judge.words.eq(self._left),
            judge.space.eq(Cat(self._space, self._strange)), judge.address.eq(self._address),
            judge.length.eq(self._length), judge.ours.eq(self._shown == self._session),
            judge.fresh.eq(self._sequence == self._next),
            judge.repeated.eq(self._sequence + 1 == self._next), judge.dead.eq(self.dead),
        ]
        return judge

    def _access(self, m):
        """What goes to the port, and how long it takes."""
        waited = Signal(range(DEAD_CYCLES))
        access = self.port.request.p
        m.d.comb += [
            access.write.eq(self._is[Operation.WRITE]),
            access.external.eq(self._space[0]), access.address.eq(self._address),
            access.data.eq(self.buffer.data), self.buffer.address.eq(self._place),
        ]
        # A register: what it resets is all over the FPGA.
        m.d.sync += self.reset.eq(0)
        m.d.sync += [waited.eq(Mux(self._waiting, waited + 1, 0)),
                     self._late.eq(self._waiting & (waited == DEAD_CYCLES - 2))]
        with m.If(self._waiting & self._late):
            m.d.sync += self.dead.eq(1)

    def _advance(self, m):
        """Go to the next data word."""
        m.d.sync += [self._left.eq(self._left - 1), self._place.eq(self._place + 1)]
        with m.If(~self._space[1]):
            m.d.sync += self._address.eq(self._address + 4)

    def _take(self, m):
        """Read the header; the session last, which stays at the buffer's output."""
        with m.State("IDLE"):
            m.d.comb += self.buffer.valid.eq(1)
            m.d.sync += self._place.eq(0)
            with m.If(self.frame):
                m.d.sync += [self._length.eq(self.words), self._place.eq(2)]
                m.next = "HEADER"
        with m.State("HEADER"):
            m.d.comb += self.buffer.valid.eq(1)
            word = self.buffer.data
            m.d.sync += [
                self._operation.eq(word[:8]), self._sequence.eq(word[8:]),
                self._left.eq(word[16:]), self._space.eq(word[24:]),
                self._strange.eq(word[24 + len(Space):].any()), self._place.eq(1),
            ]
            m.next = "ADDRESS"
        with m.State("ADDRESS"):
            m.d.comb += self.buffer.valid.eq(1)
            m.d.sync += [self._address.eq(self.buffer.data), self._place.eq(REQUEST_HEADER)]
            m.next = "SHOW"
        with m.State("SHOW"):
            # Block RAM answers late: what is compared is put into a register first.
            m.d.sync += self._shown.eq(self.buffer.data)
            m.next = "JUDGE"
        with m.State("JUDGE"):
            m.next = "DECIDE"

    def _decide(self, m, judge):
        with m.State("DECIDE"):
            m.d.sync += [self._status.eq(judge.status), self._has_data.eq(judge.has_data)]
            with m.If(judge.advance):
                m.d.sync += self._next.eq(self._sequence + 1)
            m.next = "ANSWER"
            with m.If(judge.execute):
                with m.If(self._is[Operation.HELLO]):
                    m.d.sync += [self._session.eq(self.buffer.data), self._left.eq(1)]
                with m.If(self._is[Operation.WRITE]):
                    m.next = "FETCH"
                with m.If(self._is[Operation.RESET]):
                    m.d.sync += [self.reset.eq(1), self.dead.eq(0)]

    def _write(self, m):
        with m.State("FETCH"):
            m.d.comb += self.buffer.valid.eq(1)
            m.next = "WRITE"
        with m.State("WRITE"):
            m.d.comb += [self.port.request.valid.eq(1),
                         self._waiting.eq(~self.port.request.ready)]
            with m.If(self.port.request.ready):
                self._advance(m)
                m.next = "FETCH"
                with m.If(self._left == 1):
                    m.next = "ANSWER"
            with m.Elif(self._late):
                m.d.sync += self._status.eq(Status.DEAD)
                m.next = "ANSWER"

    def _answer(self, m):
        status, words = Signal(8), Mux(self._has_data, self._left, 0)
        answer = self.answer.p
        m.d.comb += status.eq(self._status)
        with m.State("ANSWER"):
            m.d.comb += [
                self.answer.valid.eq(1),
                answer.data.eq(Cat(status, self._sequence, words, self._next))]
            with m.If(self.answer.ready):
                m.next = "SESSION"
        with m.State("SESSION"):
            m.d.comb += [self.answer.valid.eq(1), answer.data.eq(self._session),
                         answer.last.eq(~self._has_data)]
            with m.If(self.answer.ready):
                m.next = "IDLE"
                with m.If(self._has_data):
                    m.next = "DATA"

    def _read(self, m):
        answer = self.answer.p
        with m.State("DATA"):
            m.d.comb += self.buffer.valid.eq(self._is[Operation.ECHO])
            m.next = "SEND"
            with m.If(self._is[Operation.READ]):
                m.d.comb += [self.port.request.valid.eq(1),
                             self._waiting.eq(~self.port.request.ready)]
                with m.If(self._waiting & self._late):
                    m.next = "SPOIL"
                with m.Elif(~self.port.request.ready):
                    m.next = "DATA"
        with m.State("SEND"):
            m.d.comb += [self.answer.valid.eq(1), answer.data.eq(self.buffer.data)]
            with m.If(self._is[Operation.READ]):
                m.d.comb += [
                    self.answer.valid.eq(self.port.response.valid),
                    self.port.response.ready.eq(self.answer.ready),
                    answer.data.eq(self.port.response.payload),
                    self._waiting.eq(~self.port.response.valid)]
                with m.If(self._waiting & self._late):
                    m.next = "SPOIL"
            with m.Elif(self._is[Operation.HELLO]):
                m.d.comb += answer.data.eq(self._facts())
            self._sent(m, "DATA")
        with m.State("SPOIL"):
            # The header promised words: the frame is ended so that no host takes them.
            m.d.comb += [self.answer.valid.eq(1), answer.spoiled.eq(1)]
            self._sent(m, "SPOIL")

    def _sent(self, m, after):
        m.d.comb += self.answer.p.last.eq(self._left == 1)
        with m.If(self.answer.valid & self.answer.ready):
            self._advance(m)
            m.next = after
            with m.If(self._left == 1):
                m.next = "IDLE"

    def _facts(self):
        """What HELLO tells."""
        return (PROTOCOL | MAX_WORDS << 8 | self._ext_log2 << 16
                | exact_log2(self._bus_bytes) << 24)

"""The link: from the wires of a UART to accesses to chip and external memory."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from systolith.hw.link.baud import baud_step
from systolith.hw.link.executor import Executor
from systolith.hw.link.frame_receiver import BUFFER_WORDS, FrameReceiver
from systolith.hw.link.frame_sender import AnswerWord, FrameSender
from systolith.hw.link.port import AccessPort
from systolith.hw.link.stage import Stage
from systolith.hw.link.uart_receiver import UartReceiver
from systolith.hw.link.uart_sender import UartSender
from systolith.hw.memory import Memory


class Link(wiring.Component):
    """Wires the stages of the link.

    Parameters
    ----------
    clock_hz, baud : number
        Clock, and bits a second on the line.
    ext_bytes, bus_bytes : int
        See :class:`Executor`.

    Members
    -------
    rx : In(1), tx : Out(1)
        The line, in step with the clock; one when idle.
    port : Out(AccessPort)
        Chip and external memory.
    reset : Out(1)
        Reset what is behind the port.
    dead : Out(1)
        See :class:`Executor`.

    Raises
    ------
    ValueError
        When the clock does not give the baud rate.
    """

    def __init__(self, *, clock_hz, baud, ext_bytes, bus_bytes):
        self._step = baud_step(clock_hz=clock_hz, baud=baud)
        self._ext_bytes, self._bus_bytes = ext_bytes, bus_bytes
        super().__init__({"rx": In(1, init=1), "tx": Out(1, init=1), "port": Out(AccessPort()),
                          "reset": Out(1), "dead": Out(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.buffer = buffer = Memory(width=32, depth=BUFFER_WORDS)
        m.submodules.executor = executor = Executor(
            ext_bytes=self._ext_bytes, bus_bytes=self._bus_bytes)
        self._receive(m, buffer, executor)
        self._send(m, executor)
        connect(m, executor.buffer, buffer.read)
        connect(m, executor.port, flipped(self.port))
        m.d.comb += [self.reset.eq(executor.reset), self.dead.eq(executor.dead)]
        return m

    def _receive(self, m, buffer, executor):
        m.submodules.uart_receiver = uart = UartReceiver(step=self._step)
        m.submodules.frame_receiver = frames = FrameReceiver(step=self._step)
        connect(m, frames.buffer, buffer.write)
        # Whether a bit ends is known late.
        m.d.sync += [frames.valid.eq(uart.valid), frames.data.eq(uart.data),
                     frames.broken.eq(uart.broken)]
        m.d.comb += [
            uart.line.eq(self.rx), frames.busy.eq(executor.busy),
            executor.frame.eq(frames.frame), executor.words.eq(frames.words),
        ]

    def _send(self, m, executor):
        m.submodules.frame_sender = frames = FrameSender()
        m.submodules.uart_sender = uart = UartSender(step=self._step)
        # What the executor decides comes late in its cycle, and a word takes many on the line.
        m.submodules.stage = stage = Stage(shape=AnswerWord())
        connect(m, executor.answer, stage.i)
        connect(m, stage.o, frames.i)
        connect(m, frames.o, uart.i)
        m.d.comb += self.tx.eq(uart.line)

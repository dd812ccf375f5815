"""Registers on the way to external memory."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from systolith.hw.buffer import Buffer
from systolith.hw.external import ExternalRequest
from systolith.hw.external_share import ExternalUser


class ExternalBuffer(wiring.Component):
    """Requests and beats to write come a cycle later; beats read pass as they are.

    Each of them is accepted by itself, so a write is accepted before the memory has it. It is in
    its place in the order of all accesses.

    Parameters
    ----------
    bus_bytes : int
        Bytes of a beat.

    Members
    -------
    user : In(ExternalUser)
        Who uses the memory.
    memory : Out(ExternalUser)
        The memory.
    """

    def __init__(self, *, bus_bytes):
        user = ExternalUser(bus_bytes=bus_bytes)
        self._shapes = {"request": ExternalRequest(), "write": 8 * bus_bytes}
        super().__init__({"user": In(user), "memory": Out(user)})

    def elaborate(self, platform):
        m = Module()
        for name, shape in self._shapes.items():
            m.submodules[name] = buffer = Buffer(shape=shape)
            connect(m, flipped(getattr(self.user, name)), buffer.i)
            connect(m, buffer.o, flipped(getattr(self.memory, name)))
        connect(m, flipped(self.memory.read), flipped(self.user.read))
        return m

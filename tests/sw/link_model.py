"""A model of the device's end of the link, and a wire that is faulty as it is told."""
import struct
from collections import deque

from systolith.hw.frames import (
    MAX_WORDS,
    PROTOCOL,
    REQUEST_HEADER,
    Operation,
    Space,
    Status,
)
from systolith.sw.runtime.frames import AnswerFrame, FrameFinder

EXT_LOG2, BUS_LOG2 = 16, 2


class ModelDevice:
    """Executes frames as ``docs/link.md`` says, on a memory of words.

    Attributes
    ----------
    words : dict
        Words by (external, address).
    writes : list
        All writes in order: (external, address, word).
    resets : int
        How often the chip was reset.
    dead : bool
        Set it, and the chip's port does not answer until RESET.
    """

    def __init__(self, *, ext_log2=EXT_LOG2, bus_log2=BUS_LOG2, protocol=PROTOCOL):
        self.words, self.writes, self.resets, self.dead = {}, [], 0, False
        self._facts = bytes([protocol, MAX_WORDS, ext_log2, bus_log2])
        self._finder = FrameFinder()
        self._session = self._next = 0

    def feed(self, data):
        """The bytes that the device sends back."""
        return b"".join(self._answer(content) for content in self._finder.feed(data))

    def _answer(self, content):
        if len(content) < 4 * REQUEST_HEADER or len(content) % 4:
            return b""
        operation, sequence, words, space, session, address = struct.unpack_from("<4BII", content)
        status, data = self._judge(operation, sequence, words, Space(space), session, address,
                                   content[4 * REQUEST_HEADER:])
        return AnswerFrame(status=status, sequence=sequence, next=self._next,
                           session=self._session, data=data).encode()

    def _judge(self, operation, sequence, words, space, session, address, data):
        if operation == Operation.HELLO:
            self._session, self._next = session, (sequence + 1) % 256
            return Status.OK, self._facts
        if session != self._session:
            return Status.SESSION, b""
        if self.dead and operation in (Operation.READ, Operation.WRITE):
            return Status.DEAD, b""
        fresh, repeated = sequence == self._next, (sequence + 1) % 256 == self._next
        if not fresh and not repeated:
            return Status.SEQUENCE, b""
        if fresh:
            self._next = (sequence + 1) % 256
            self._do(operation, space, address, data)
        step = 0 if space & Space.FIXED else 4
        external = bool(space & Space.EXTERNAL)
        if operation == Operation.READ:
            data = b"".join(self.words.get((external, address + step * i), bytes(4))
                            for i in range(words))
        return Status.OK, data if operation in (Operation.READ, Operation.ECHO) else b""

    def _do(self, operation, space, address, data):
        if operation == Operation.RESET:
            self.resets += 1
            self.dead = False
        if operation != Operation.WRITE:
            return
        for offset in range(0, len(data), 4):
            place = address + (0 if space & Space.FIXED else offset)
            key = bool(space & Space.EXTERNAL), place
            self.words[key] = data[offset:offset + 4]
            self.writes.append((*key, data[offset:offset + 4]))


class FaultyWire:
    """A wire to a device on which each write, and each answer to it, may suffer.

    Time does not pass: where nothing comes, a read returns at once.

    Parameters
    ----------
    device : ModelDevice
        At the other end.
    faults : iterable of callable
        Each takes the bytes of one direction and gives those that arrive; used up in turn, then
        nothing is lost any more.
    """

    def __init__(self, device, faults=()):
        self.name = "faulty"
        self._device, self._faults = device, deque(faults)
        self._come = bytearray()

    def _suffer(self, data):
        return self._faults.popleft()(data) if self._faults else data

    def write(self, data):
        self._come += self._suffer(self._device.feed(self._suffer(data)))

    def read(self, seconds):
        data = bytes(self._come)
        self._come.clear()
        return data

    def clear(self):
        self._come.clear()

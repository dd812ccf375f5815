"""Simple dual-port memory, the only kind of memory in the machine, inferred as block RAM."""
from amaranth import *
from amaranth.hdl import MemoryData, MemoryInstance
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

#: Cycles from a read's address to its data.
READ_LATENCY = 1


#: The same where a register follows, which an ECP5 has inside of its block RAM: without it, the
#: path from the memory is the longest of all.
LATE_READ_LATENCY = READ_LATENCY + 1


class MemoryRead(wiring.Signature):
    """Reads one memory, seen from the reader.

    ``data`` is the word at ``address`` one cycle after ``valid``. A reader that needs it longer
    keeps it: other readers may use the memory in the meantime.

    Parameters
    ----------
    depth : int
        Words of the memory.
    shape : shape-like
        Shape of a word.
    """

    def __init__(self, depth, shape):
        super().__init__({"valid": Out(1), "address": Out(range(depth)), "data": In(shape)})


class MemoryWrite(wiring.Signature):
    """Writes one memory, seen from the writer: the units of ``data`` whose ``mask`` bit is set.

    Parameters
    ----------
    depth : int
        Words of the memory.
    width : int
        Bits of a word.
    granularity : int
        Bits of a unit.
    """

    def __init__(self, depth, width, granularity):
        super().__init__({"mask": Out(width // granularity), "address": Out(range(depth)),
                          "data": Out(width)})


class Memory(wiring.Component):
    """One read and one write a cycle, each at an address of its own.

    A read of the word that is written in the same cycle gives no defined data: block RAMs of
    different families differ here, so nothing in the machine depends on it. Data stay on the read
    port until the next read. Contents start as zero in simulation and survive a reset.

    Parameters
    ----------
    width : int
        Bits of a word, at least 1.
    depth : int
        Words, at least 2.
    granularity : int
        Bits that share a bit of the write mask; a divisor of ``width``.

    Members
    -------
    read : In(MemoryRead)
        Latency ``READ_LATENCY``, a read a cycle.
    write : In(MemoryWrite)
        Readable from the next cycle on.

    Raises
    ------
    TypeError, ValueError
        When a parameter is no integer or outside its limit.
    """

    def __init__(self, *, width, depth, granularity=8):
        for name, value, low in (("width", width, 1), ("depth", depth, 2),
                                 ("granularity", granularity, 1)):
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(f"{name} must be an integer, not {value!r}")
            if value < low:
                raise ValueError(f"{name} must be at least {low}, not {value}")
        if width % granularity:
            raise ValueError(f"granularity must divide width ({width}), not be {granularity}")
        self._width, self._depth, self._granularity = width, depth, granularity
        super().__init__({
            "read": In(MemoryRead(depth, width)),
            "write": In(MemoryWrite(depth, width, granularity)),
        })

    @property
    def width(self):
        """Bits of a word."""
        return self._width

    @property
    def depth(self):
        """Words."""
        return self._depth

    @property
    def granularity(self):
        """Bits that share a bit of the write mask."""
        return self._granularity

    def elaborate(self, platform):
        m = Module()
        # The instance is used directly: lib.memory.Memory would add a module around each memory.
        words = MemoryData(shape=self._width, depth=self._depth, init=[])
        m.submodules.words = instance = MemoryInstance(data=words)
        instance.write_port(domain="sync", addr=self.write.address, data=self.write.data,
                            en=self.write.mask)
        instance.read_port(domain="sync", addr=self.read.address, data=self.read.data,
                           en=self.read.valid, transparent_for=())
        return m

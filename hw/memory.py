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


def operand_latency(config):
    """Cycles from a read of the activation or weight memory to its data."""
    return LATE_READ_LATENCY + config.port_cycles


class MemoryRead(wiring.Signature):
    """Reads one memory, seen from the reader.

    ``data`` is the word at ``address``, some cycles after ``valid`` that the memory tells. A reader
    that needs it longer keeps it: other readers may use the memory in the meantime.

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
    port_cycles : int
        Registers in front of both ports, 0 or 1. They keep reads and writes in order.

    Members
    -------
    read : In(MemoryRead)
        Latency ``READ_LATENCY + port_cycles``, a read a cycle.
    write : In(MemoryWrite)
        Readable from the next cycle on.

    Raises
    ------
    TypeError, ValueError
        When a parameter is no integer or outside its limit.
    """

    def __init__(self, *, width, depth, granularity=8, port_cycles=0):
        for name, value, low in (("width", width, 1), ("depth", depth, 2),
                                 ("granularity", granularity, 1), ("port_cycles", port_cycles, 0)):
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(f"{name} must be an integer, not {value!r}")
            if value < low:
                raise ValueError(f"{name} must be at least {low}, not {value}")
        if width % granularity:
            raise ValueError(f"granularity must divide width ({width}), not be {granularity}")
        if port_cycles > 1:
            raise ValueError(f"port_cycles must be at most 1, not {port_cycles}")
        self._port_cycles = port_cycles
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
        write, read = ((self._late_write(m), self._late_read(m)) if self._port_cycles
                       else (self.write, self.read))
        instance.write_port(domain="sync", addr=write.address, data=write.data, en=write.mask)
        instance.read_port(domain="sync", addr=read.address, data=self.read.data, en=read.valid,
                           transparent_for=())
        return m

    def _late_write(self, m):
        signature = MemoryWrite(self._depth, self._width, self._granularity)
        later = signature.create(path=("late_write",))
        m.d.sync += [later.mask.eq(self.write.mask), later.address.eq(self.write.address),
                     later.data.eq(self.write.data)]
        return later

    def _late_read(self, m):
        later = MemoryRead(self._depth, self._width).create(path=("late_read",))
        m.d.sync += [later.valid.eq(self.read.valid), later.address.eq(self.read.address)]
        return later

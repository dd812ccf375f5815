"""The registers of a core, as the ISA lays them out."""
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.faults import Fault
from systolith.hw.isa import (
    ENGINES,
    MESH_FIELDS,
    PACKET_FIELDS,
    SPACE_BITS,
    STATUS_FIELDS,
    VERSION,
    Control,
    Counter,
    Register,
    counter_offset,
)
from systolith.hw.mesh.guard import DROPPED_BITS
from systolith.hw.mesh.interface import SWALLOWED_BITS
from systolith.hw.mesh.route import Place

#: Bytes of the region of the registers. Offsets without a register read 0, writes do nothing.
REGISTER_BYTES = 0x100


class MeshState(wiring.Signature):
    """What a core knows of its node, seen from there: see ``MESH_FIELDS`` and ``PACKET_FIELDS``."""

    def __init__(self):
        super().__init__({"place": Out(Place()), "swallowed": Out(SWALLOWED_BITS),
                          "dropped": Out(DROPPED_BITS)})


class RegisterPort(wiring.Signature):
    """The registers: a write a cycle, and ``read_data`` of ``address`` one cycle later."""

    def __init__(self):
        super().__init__({"write": Out(1), "address": Out(range(REGISTER_BYTES)), "data": Out(32),
                          "read_data": In(32)})


class Registers(wiring.Component):
    """Reads show the inputs of the cycle before. What a write does shows in a read that is asked
    for one cycle later.

    Parameters
    ----------
    config : :class:`Config`
        For the identity, the semaphores and the mesh.

    Members
    -------
    port : In(RegisterPort)
        The host.
    run : Out(1)
        CONTROL.RUN, level.
    reset : Out(1)
        CONTROL.RESET, the cycle after the write. It drives so much that it comes from a register.
    clear : Out(1)
        CONTROL.CLEAR_COUNTERS, in the cycle of the write.
    signal : Out(16)
        Semaphores that the host signals, in the cycle of the write.
    idle : In(1), waiting, active : In(3), stopped : In(1), fault : In(Fault)
        For STATUS.
    space : In(ArrayLayout(10, 3))
        Free words of each queue.
    semaphores : In(ArrayLayout(semaphore_width, semaphores))
        Values; semaphore i is the byte ``Register.SEMAPHORES + i``.
    cycles, move_bytes : In(32), counters : In(ArrayLayout(ArrayLayout(32, 5), 3))
        Counters; those of the engines are indexed by engine and :class:`Counter`.
    mesh : In(MeshState)
        For MESH and PACKETS; only where there are several cores.
    """

    def __init__(self, *, config):
        self._config = config
        engines = len(ENGINES)
        super().__init__({
            "port": In(RegisterPort()),
            "run": Out(1), "reset": Out(1), "clear": Out(1), "signal": Out(16),
            "idle": In(1), "waiting": In(engines), "active": In(engines),
            "stopped": In(1), "fault": In(Fault()),
            "space": In(data.ArrayLayout(SPACE_BITS, engines)),
            "semaphores": In(data.ArrayLayout(config.semaphore_width, config.semaphores)),
            "cycles": In(32), "move_bytes": In(32),
            "counters": In(data.ArrayLayout(data.ArrayLayout(32, len(Counter)), engines)),
            **({"mesh": In(MeshState())} if config.cores > 1 else {}),
        })

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.port.read_data.eq(0)
        with m.Switch(self.port.address[2:]):
            for offset, value in self._words(m).items():
                with m.Case(offset // 4):
                    m.d.sync += self.port.read_data.eq(value)
        m.d.sync += self.reset.eq(0)
        with m.If(self.port.write):
            with m.Switch(self.port.address[2:]):
                with m.Case(Register.CONTROL // 4):
                    run, reset, clear = (self.port.data[flag.bit_length() - 1] for flag in (
                        Control.RUN, Control.RESET, Control.CLEAR_COUNTERS))
                    m.d.sync += [self.run.eq(run), self.reset.eq(reset)]
                    m.d.comb += self.clear.eq(clear)
                with m.Case(Register.SIGNAL // 4):
                    m.d.comb += self.signal.eq(self.port.data)
        return m

    def _words(self, m):
        """Value of the register at each offset that reads anything but 0."""
        words = {
            Register.ID: Const(self._config.identity, 32), Register.VERSION: Const(VERSION, 32),
            Register.CONTROL: self.run, Register.STATUS: self._status(m),
            Register.QUEUE_SPACE: self.space.as_value(),
            Register.CYCLES: self.cycles, Register.MOVE_BYTES: self.move_bytes,
        }
        if self._config.cores > 1:
            words |= self._mesh(m)
        for engine in ENGINES:
            for counter in Counter:
                words[counter_offset(engine, counter)] = self.counters[engine][counter]
        count = self._config.semaphores
        bytes_ = [(self.semaphores[i] | Const(0, 8)) for i in range(count)]
        for first in range(0, count, 4):
            words[Register.SEMAPHORES + first] = Cat(bytes_[first:first + 4])
        return words

    def _mesh(self, m):
        mesh, config = self.mesh, self._config
        place = {"x": mesh.place.x, "y": mesh.place.y, "x_last": config.mesh_width - 1,
                 "y_last": config.mesh_height - 1}
        packets = {"swallowed": mesh.swallowed, "dropped": mesh.dropped}
        return {Register.MESH: _fields(m, MESH_FIELDS, place),
                Register.PACKETS: _fields(m, PACKET_FIELDS, packets)}

    def _status(self, m):
        sources = {
            "idle": self.idle, "error": self.stopped, "engine": self.fault.engine,
            "cause": self.fault.cause, "waiting": self.waiting, "active": self.active,
            "index": self.fault.index,
        }
        return _fields(m, STATUS_FIELDS, sources)


def _fields(m, fields, sources):
    """A register with these fields."""
    word = Signal(32)
    for name, lsb, width, _ in fields:
        m.d.comb += word[lsb:lsb + width].eq(sources[name])
    return word

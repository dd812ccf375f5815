"""The compact core: memories with the array, the engine, and the microprogram in between."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import connect, flipped

from systolith.hw.compact.engine import Engine
from systolith.hw.compact.memories import Memories
from systolith.hw.compact.microcode.program import microprogram
from systolith.hw.config import Region
from systolith.hw.core import core_ports
from systolith.hw.isa import Register


class CompactCore(wiring.Component):
    """Wires the core. Commands run one after another, each to its end.

    Parameters
    ----------
    config : Config
        A compact configuration.
    vendor : bool
        Take the parts of the iCE40 UP5K; else their functions, for simulation.

    Members
    -------
    host_request, host_response, ext_request, ext_write, ext_read
        Those of :class:`Core`. External memory is inside: the host reaches it at addresses with
        bit ``EXTERNAL_BIT`` set, and its own port is silent.
    """

    def __init__(self, *, config, vendor=False):
        super().__init__(core_ports(config))
        self._config, self._vendor = config, vendor

    def elaborate(self, platform):
        m = Module()
        program = microprogram(self._config)
        m.submodules.memories = memories = Memories(config=self._config, vendor=self._vendor)
        m.submodules.engine = engine = Engine(
            code=program.code, constants=program.constants,
            status_address=self._config.host_address(Region.REGISTERS, Register.STATUS))
        connect(m, engine.access, memories.access)
        connect(m, flipped(self.host_request), engine.host_request)
        connect(m, engine.host_response, flipped(self.host_response))
        m.d.comb += [
            memories.setup.eq(engine.setup), memories.place.eq(engine.place),
            memories.data.eq(engine.data), engine.busy.eq(memories.busy),
        ]
        return m

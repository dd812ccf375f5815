"""The chip: wires its cores to the ports."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, connect, flipped

from systolith.hw.compact.core import CompactCore
from systolith.hw.core import Core, chip_ports, core_ports
from systolith.hw.uncore import Uncore

#: Name of the module of :class:`Core` in a chip of several.
CORE = "core"


class Chip(wiring.Component):
    """The cores with the host port and the port to external memory.

    A single core has both to itself. Several are joined by an :class:`Uncore`; they are instances
    of a module ``core``, whose Verilog is that of :class:`Core` and made once.

    Parameters
    ----------
    config : :class:`Config`
        All sizes.
    vendor : bool
        A compact core takes the parts of the iCE40 UP5K; else their functions, for simulation.

    Members
    -------
    host_request, host_response, ext_request, ext_write, ext_read
        Those of the core, see :class:`Core`.
    """

    def __init__(self, *, config, vendor=False):
        super().__init__(chip_ports(config))
        self._config, self._vendor = config, vendor

    def elaborate(self, platform):
        m = Module()
        if self._config.cores == 1:
            m.submodules.core0 = ports = self._core()
        else:
            m.submodules.uncore = ports = Uncore(config=self._config)
            for number, joint in enumerate(ports.cores):
                m.submodules[f"core{number}"] = self._instance(joint)
        for name in self.signature.members:
            connect(m, flipped(getattr(self, name)), getattr(ports, name))
        return m

    def _core(self):
        if self._config.compact:
            return CompactCore(config=self._config, vendor=self._vendor)
        return Core(config=self._config)

    def _instance(self, joint):
        """A core on the uncore's side of its ports."""
        members = wiring.Signature(core_ports(self._config)).flatten(joint)
        ports = {f"{'i' if member.flow == In else 'o'}_{'__'.join(map(str, path))}": value
                 for path, member, value in members}
        return Instance(CORE, i_clk=ClockSignal(), i_rst=ResetSignal(), **ports)

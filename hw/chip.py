"""The chip: wires its core to the ports."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import connect, flipped

from systolith.hw.compact.core import CompactCore
from systolith.hw.core import Core, core_ports


class Chip(wiring.Component):
    """One core with the host port and the port to external memory.

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
        super().__init__(core_ports(config))
        self._config, self._vendor = config, vendor

    def elaborate(self, platform):
        m = Module()
        m.submodules.core0 = core = self._core()
        for name in self.signature.members:
            ours, theirs = flipped(getattr(self, name)), getattr(core, name)
            connect(m, ours, theirs)
        return m

    def _core(self):
        if self._config.compact:
            return CompactCore(config=self._config, vendor=self._vendor)
        return Core(config=self._config)

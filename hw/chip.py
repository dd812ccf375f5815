"""The chip: wires its core to the ports."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import connect, flipped

from systolith.hw.config import check_one_core
from systolith.hw.core import Core, core_ports


class Chip(wiring.Component):
    """One core with the host port and the port to external memory.

    Parameters
    ----------
    config : :class:`Config`
        All sizes.

    Members
    -------
    host_request, host_response, ext_request, ext_write, ext_read
        Those of the core, see :class:`Core`.

    Raises
    ------
    ConfigError
        When the configuration has more than one core: they are not joined yet.
    """

    def __init__(self, *, config):
        super().__init__(core_ports(config))
        check_one_core(config, "the chip")
        self._config = config

    def elaborate(self, platform):
        m = Module()
        m.submodules.core0 = core = Core(config=self._config)
        for name in self.signature.members:
            ours, theirs = flipped(getattr(self, name)), getattr(core, name)
            connect(m, ours, theirs)
        return m

"""The chip: wires its cores to the ports."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import connect, flipped

from systolith.hw.core import Core, chip_ports
from systolith.hw.uncore import Uncore


class Chip(wiring.Component):
    """The cores with the host port and the port to external memory.

    A single core has both to itself; several are joined by an :class:`Uncore`.

    Parameters
    ----------
    config : :class:`Config`
        All sizes.

    Members
    -------
    host_request, host_response, ext_request, ext_write, ext_read
        Those of the core, see :class:`Core`.
    """

    def __init__(self, *, config):
        super().__init__(chip_ports(config))
        self._config = config

    def elaborate(self, platform):
        m = Module()
        cores = [Core(config=self._config) for _ in range(self._config.cores)]
        for number, core in enumerate(cores):
            m.submodules[f"core{number}"] = core
        ports = cores[0]
        if len(cores) > 1:
            m.submodules.uncore = ports = Uncore(config=self._config)
            for core, joint in zip(cores, ports.cores, strict=True):
                connect(m, core, joint)
        for name in self.signature.members:
            connect(m, flipped(getattr(self, name)), getattr(ports, name))
        return m

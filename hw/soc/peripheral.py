"""The chip as a peripheral of a system with Wishbone buses."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from systolith.hw.chip import Chip
from systolith.hw.config import ConfigError
from systolith.hw.core import chip_ports
from systolith.hw.soc.host import WishboneHost, host_bus
from systolith.hw.soc.memory import WishboneMemory, memory_bus

#: Name of the chip in the peripheral.
CHIP = "chip"


class Peripheral(wiring.Component):
    """The chip with a slave for its host port and a master for its external memory.

    Parameters
    ----------
    config : :class:`Config`
        All sizes.

    Members
    -------
    host : In(Wishbone)
        See :class:`WishboneHost`.
    memory : Out(Wishbone), memory_base : In(32), memory_error : Out(1)
        See :class:`WishboneMemory`.

    Raises
    ------
    TypeError
        When ``config`` is no :class:`Config`.
    ConfigError
        When the core is compact: its external memory is inside, where no bus leads.
    """

    def __init__(self, *, config):
        chip_ports(config)  # checks it
        if config.compact:
            raise ConfigError(f"{config.name!r} has a compact core with its external memory "
                              "inside, which no bus reaches; choose another configuration")
        self._config = config
        super().__init__({
            "host": In(host_bus(config)), "memory": Out(memory_bus(config.bus_bytes)),
            "memory_base": In(32), "memory_error": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules[CHIP] = chip = Chip(config=self._config)
        m.submodules.host = host = WishboneHost(config=self._config)
        m.submodules.memory = memory = WishboneMemory(bus_bytes=self._config.bus_bytes)
        connect(m, flipped(self.host), host.bus)
        connect(m, memory.bus, flipped(self.memory))
        connect(m, host.request, chip.host_request)
        connect(m, chip.host_response, host.response)
        for name in ("request", "write"):
            connect(m, getattr(chip, f"ext_{name}"), getattr(memory.user, name))
        connect(m, memory.user.read, chip.ext_read)
        m.d.comb += [memory.base.eq(self.memory_base), self.memory_error.eq(memory.error)]
        return m

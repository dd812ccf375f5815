"""What a processor's driver does over a bus: memories, registers, programs."""
from systolith.hw.config import Region
from systolith.hw.isa import Control, Register, status_field


class Driver:
    """Drives a peripheral that a master sees at the address ``base``.

    Parameters
    ----------
    config : Config
        Sizes of the chip.
    master : Master
        What accesses go through.
    """

    def __init__(self, config, master, *, base=0):
        self.config, self.master, self._base = config, master, base

    def address(self, region, offset=0):
        """Where the master sees a byte of a region."""
        return self._base + self.config.host_address(region, offset)

    async def write(self, region, offset, data):
        """Write bytes, whole words."""
        await self.master.store(self.address(region, offset), data)

    async def read(self, region, offset, size):
        """Read bytes, whole words."""
        return await self.master.load(self.address(region, offset), size)

    async def register(self, offset):
        """Value of a register."""
        return await self.master.access(self.address(Region.REGISTERS, offset))

    async def set_register(self, offset, value):
        """Write a register."""
        await self.master.access(self.address(Region.REGISTERS, offset), int(value))

    async def start(self, queues):
        """Push each engine's command words, which must fit, and start."""
        for engine, words in queues.items():
            for word in words:
                await self.master.access(self.address(Region.QUEUES, 4 * engine), word)
        await self.set_register(Register.CONTROL, Control.RUN | Control.CLEAR_COUNTERS)

    async def finish(self):
        """Wait until all commands have retired."""
        while not status_field(status := await self.register(Register.STATUS), "idle"):
            assert not status_field(status, "error")

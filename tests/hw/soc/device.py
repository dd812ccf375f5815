"""The device of compiled programs behind a bus, for functions under cocotb's ``bridge``."""
from cocotb.task import resume

from systolith.hw.config import Region
from systolith.hw.isa import Control, Register
from systolith.sw.runtime.device import DEFAULT_MAX_CYCLES
from systolith.sw.runtime.registers import RegisterDevice


class BusDevice(RegisterDevice):
    """The accelerator as a driver and a memory of the system.

    Parameters
    ----------
    driver : Driver
        Reaches the core.
    external : int
        Where the driver's master sees external memory.
    """

    name = "bus"

    def __init__(self, driver, *, external):
        self.config = driver.config
        self._driver, self._external = driver, external

    def write(self, memory, offset, data):
        self.check_range(memory, offset, len(data))
        if isinstance(memory, Region):
            resume(self._driver.write)(memory, offset, data)
        else:
            resume(self._driver.master.store)(self._external + offset, data)

    def read(self, memory, offset, size):
        self.check_range(memory, offset, size)
        if isinstance(memory, Region):
            return resume(self._driver.read)(memory, offset, size)
        return resume(self._driver.master.load)(self._external + offset, size)

    def read_register(self, offset):
        return resume(self._driver.register)(offset)

    def write_register(self, offset, value):
        resume(self._driver.set_register)(offset, value)

    def run_words(self, queues):
        resume(self._driver.start)(queues)

    def wait(self, max_cycles=DEFAULT_MAX_CYCLES):
        resume(self._driver.finish)()
        return self.counters()

    def reset(self):
        self.write_register(Register.CONTROL, Control.RESET)

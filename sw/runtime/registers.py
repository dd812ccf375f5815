"""A device whose core is reached through its registers."""
import abc

from systolith.hw.isa import (
    ENGINES,
    STATUS_FIELDS,
    Cause,
    Counter,
    Engine,
    Register,
    counter_offset,
    status_field,
)
from systolith.sw.runtime.device import Counters, Device, DeviceError, EngineCounters


class RegisterDevice(Device):
    """What follows from reading and writing registers."""

    @abc.abstractmethod
    def read_register(self, offset: int) -> int:
        """One register of the core, at a byte offset."""

    @abc.abstractmethod
    def write_register(self, offset: int, value: int) -> None:
        """Write a register of the core."""

    def read_registers(self, offset: int, count: int) -> list[int]:
        """Registers at consecutive offsets."""
        return [self.read_register(offset + 4 * index) for index in range(count)]

    def semaphores(self) -> list[int]:
        """Values of all semaphores."""
        count = self.config.semaphores
        words = self.read_registers(Register.SEMAPHORES, -(-count // 4))
        return [words[i // 4] >> 8 * (i % 4) & 255 for i in range(count)]

    def counters(self) -> Counters:
        end = counter_offset(ENGINES[-1], Counter.COMMANDS) + 4
        words = self.read_registers(Register.CYCLES, (end - Register.CYCLES) // 4)

        def at(offset: int) -> int:
            return words[(offset - Register.CYCLES) // 4]

        engines = {engine: EngineCounters(**{
            counter.name.lower(): at(counter_offset(engine, counter)) for counter in Counter})
            for engine in ENGINES}
        return Counters(cycles=at(Register.CYCLES), move_bytes=at(Register.MOVE_BYTES),
                        engines=engines)

    def check(self) -> None:
        """Raise :class:`DeviceError` when the core has stopped."""
        status = self.read_register(Register.STATUS)
        if status_field(status, "error"):
            raise stopped(status)


def stopped(status: int) -> DeviceError:
    """The error that a STATUS register shows."""
    return DeviceError(Engine(status_field(status, "engine")),
                       Cause(status_field(status, "cause")), status_field(status, "index"))


def status_mask(name: str) -> int:
    """The bits of a field of STATUS."""
    return next((1 << width) - 1 << lsb for field, lsb, width, _ in STATUS_FIELDS if field == name)

"""The external memory that a program meets."""
from dataclasses import dataclass

from systolith.hw.config import Config, ConfigError


@dataclass(frozen=True, kw_only=True)
class ExternalMemory:
    """An external memory that answers in order.

    Parameters
    ----------
    latency : int
        Cycles from a read request to its data, at least 1. 8 is that of the simulator.
    bytes_per_cycle : float, optional
        What it delivers and takes at most, on average; a beat of the bus each cycle by default.

    Raises
    ------
    ConfigError
        When a parameter is outside its limit.
    """

    latency: int = 8
    bytes_per_cycle: float | None = None

    def __post_init__(self):
        if self.latency < 1:
            raise ConfigError("the latency of the external memory must be at least 1 cycle, not "
                              f"{self.latency}")
        if self.bytes_per_cycle is not None and not self.bytes_per_cycle > 0:
            raise ConfigError("the bytes a cycle of the external memory must be above 0, not "
                              f"{self.bytes_per_cycle}")

    def rate(self, config: Config) -> float:
        """Bytes a cycle that memory and bus allow together."""
        return min(config.bus_bytes, self.bytes_per_cycle or config.bus_bytes)

    def gap(self, config: Config) -> float:
        """Cycles from beat to beat at that rate, at least 1."""
        return config.bus_bytes / self.rate(config)


#: Bytes a cycle that the controller of an SDRAM reaches of its two: the rest goes into refreshes.
SDRAM_RATE = 1.968

#: Cycles from a read request to the first word of an SDRAM, whose row is open or opened ahead.
SDRAM_LATENCY = 9

#: Names of the memories that :func:`external_memory` knows.
MEMORIES = ("ideal", "sdram")


def external_memory(name: str, config: Config) -> ExternalMemory:
    """A memory by name.

    Parameters
    ----------
    name : str
        ``"ideal"``: a beat a cycle. ``"sdram"``: what the controller in ``hw/sdram`` makes of a
        chip of 16 bits at 75 MHz, as ``tests/hw/sdram/test_rates.py`` measures it.
    config : Config
        The width of a beat.

    Raises
    ------
    ConfigError
        When there is no such memory.
    """
    if name == "ideal":
        return ExternalMemory()
    if name == "sdram":
        # A beat comes with its last word.
        return ExternalMemory(latency=SDRAM_LATENCY + config.bus_bytes // 2,
                              bytes_per_cycle=SDRAM_RATE)
    raise ConfigError(f"unknown external memory {name!r}; choose one of {', '.join(MEMORIES)}")

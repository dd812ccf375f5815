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

"""What a benchmark is."""
from collections.abc import Callable
from dataclasses import dataclass

from systolith.sw.runtime.device import Counters, Device, sum_counters


@dataclass(frozen=True)
class Work:
    """What was measured.

    Parameters
    ----------
    macs : int
        Useful multiply-accumulates.
    counters : Counters
        Summed over the runs.
    bit_exact : bool
        Whether every byte of the result equals the reference.
    head_dim : int
        Elements of a head, where scores are masked.
    """

    macs: int
    counters: Counters
    bit_exact: bool
    head_dim: int = 0

    def __add__(self, other: "Work") -> "Work":
        return Work(self.macs + other.macs, sum_counters([self.counters, other.counters]),
                    self.bit_exact and other.bit_exact, max(self.head_dim, other.head_dim))


#: The runs to be measured.
Measured = Callable[[], Work]


@dataclass(frozen=True)
class Benchmark:
    """A piece of work with a name.

    Parameters
    ----------
    name : str
    prepare : function of a device
        Compiles and does what comes before; the runs that it returns are measured.
    slow : bool
        Takes more than about ten seconds, so it runs only where it is asked for.
    config : str, optional
        The configuration that it always has, where the memories of the others are too small.
    """

    name: str
    prepare: Callable[[Device], Measured]
    slow: bool = False
    config: str | None = None

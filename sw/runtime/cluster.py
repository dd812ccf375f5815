"""The abstract cluster: all cores of a chip with a mesh, their memories and the shared one."""
import abc
from collections.abc import Mapping, Sequence

from systolith.hw.config import Config
from systolith.hw.isa import Engine
from systolith.sw.runtime.device import DEFAULT_MAX_CYCLES, Counters, Device, DeviceError, Queues


def core_name(config: Config, core: int) -> str:
    """How messages name a core: its number and its place in the mesh."""
    return f"core {core} (x {core % config.mesh_width}, y {core // config.mesh_width})"


class ClusterError(DeviceError):
    """One or more cores of a mesh stopped on a command.

    ``engine``, ``cause`` and ``index`` are those of the first of them.

    Attributes
    ----------
    core : int
        Number of the first core that stopped.
    failures : mapping of int to DeviceError
        Every core that stopped, and with what.
    """

    def __init__(self, config: Config, failures: Mapping[int, DeviceError], others: str = ""):
        self.core, first = min(failures.items())
        super().__init__(first.engine, first.cause, first.index, core=core_name(config, self.core))
        parts = [f"{core_name(config, core)}: {error}" for core, error in sorted(failures.items())]
        self.args = (". ".join([*parts, others] if others else parts),)
        self.failures = dict(failures)


class Cluster(abc.ABC):
    """The cores of a chip, joined by a mesh, with one external memory.

    Attributes
    ----------
    config : Config
        With ``mesh_width * mesh_height`` cores.
    cores : sequence of Device
        By number. Each offers the memories, counters and reset of one core; ``"ext"`` is the same
        memory in all of them.
    """

    #: Name under which the command line knows it.
    name: str
    config: Config
    cores: Sequence[Device]

    @abc.abstractmethod
    def run_words(self, queues: Sequence[Mapping[Engine, Sequence[int]]]) -> None:
        """Start raw command words, one mapping a core. :meth:`wait` must follow.

        Raises
        ------
        ValueError
            When there are not as many mappings as cores.
        """

    @abc.abstractmethod
    def wait(self, max_cycles: int = DEFAULT_MAX_CYCLES) -> list[Counters]:
        """Wait until all commands of all cores have retired; the counters of each core.

        Raises
        ------
        ClusterError
            When cores stopped on a command; names them, and what the others wait for.
        StuckError
            When no core can go on, or it did not end within ``max_cycles``.
        """

    def reset(self) -> None:
        """Reset every core. Memories keep their content."""
        for core in self.cores:
            core.reset()

    def run(self, queues: Sequence[Queues]) -> None:
        """Encode and start commands, one mapping a core. :meth:`wait` must follow."""
        self.run_words([{engine: [word for command in commands for word in command.encode()]
                         for engine, commands in each.items()} for each in queues])

    def check_queues(self, queues: Sequence[object]) -> None:
        """Raise ValueError when there are not as many mappings of queues as cores."""
        if len(queues) != self.config.cores:
            raise ValueError(f"{len(queues)} sets of queues for {self.config.cores} cores; give "
                             "each core one, empty where it has nothing to do")

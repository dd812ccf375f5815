"""The abstract cluster: all cores of a chip with a mesh, their memories and the shared one."""
import abc
from collections.abc import Collection, Mapping, Sequence

from systolith.hw.config import Config, ConfigError
from systolith.hw.isa import Engine
from systolith.sw.runtime.device import DEFAULT_MAX_CYCLES, Counters, Device, DeviceError, Queues


def core_name(config: Config, core: int) -> str:
    """How messages name a core: its number and its place in the mesh."""
    return f"core {core} (x {core % config.mesh_width}, y {core // config.mesh_width})"


def switched_off(config: Config, cores: Collection[int]) -> frozenset[int]:
    """The numbers of cores that are switched off, checked.

    Raises
    ------
    ConfigError
        When the chip has no such core, or none that is on.
    """
    for core in sorted(cores):
        if not 0 <= core < config.cores:
            raise ConfigError(f"core {core} cannot be left out: {config.name!r} has cores 0 to "
                              f"{config.cores - 1}")
    if len(set(cores)) == config.cores:
        raise ConfigError(f"all {config.cores} cores of {config.name!r} are left out; leave one on")
    return frozenset(cores)


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
    off : frozenset of int
        Cores that are switched off, in reset all the time. They run nothing, only ``"ext"`` can be
        read and written by them, and what others send to them is lost.
    """

    #: Name under which the command line knows it.
    name: str
    config: Config
    cores: Sequence[Device]
    off: frozenset[int] = frozenset()

    @abc.abstractmethod
    def run_words(self, queues: Sequence[Mapping[Engine, Sequence[int]]]) -> None:
        """Start raw command words, one mapping a core. :meth:`wait` must follow.

        Raises
        ------
        ValueError
            When there are not as many mappings as cores, or one has commands for a core that is
            switched off.
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
        for number, core in enumerate(self.cores):
            if number not in self.off:
                core.reset()

    def run(self, queues: Sequence[Queues]) -> None:
        """Encode and start commands, one mapping a core. :meth:`wait` must follow."""
        self.run_words([{engine: [word for command in commands for word in command.encode()]
                         for engine, commands in each.items()} for each in queues])

    def check_queues(self, queues: Sequence[Mapping[Engine, Sequence[int]]]) -> None:
        """Raise ValueError when there are not as many mappings of queues as cores, or a core that
        is switched off has something to do."""
        if len(queues) != self.config.cores:
            raise ValueError(f"{len(queues)} sets of queues for {self.config.cores} cores; give "
                             "each core one, empty where it has nothing to do")
        for core in sorted(self.off):
            if any(queues[core].values()):
                raise ValueError(f"{core_name(self.config, core)} is switched off, but has "
                                 "commands; compile for the other cores")


class Alone(Cluster):
    """A device as a cluster of one core.

    Parameters
    ----------
    device : Device
    """

    def __init__(self, device: Device):
        self.name, self.config, self.cores = device.name, device.config, [device]

    def run_words(self, queues: Sequence[Mapping[Engine, Sequence[int]]]) -> None:
        self.check_queues(queues)
        self.cores[0].run_words(queues[0])

    def wait(self, max_cycles: int = DEFAULT_MAX_CYCLES) -> list[Counters]:
        return [self.cores[0].wait(max_cycles)]

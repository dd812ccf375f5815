"""The functional cluster: cores of a mesh in NumPy, bit for bit as the hardware."""
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress

import numpy as np

from systolith.hw.config import Config
from systolith.hw.isa import Command, Engine, Remote, Send
from systolith.sw.reference.addressing import targets
from systolith.sw.runtime.cluster import Cluster, ClusterError, core_name, switched_off
from systolith.sw.runtime.device import DEFAULT_MAX_CYCLES, Counters, DeviceError, StuckError
from systolith.sw.runtime.execute import Memories, send
from systolith.sw.runtime.functional import FunctionalDevice


class FunctionalCluster(Cluster):
    """NumPy implementation of :class:`Cluster`. It has no notion of time: ``cycles`` is 0.

    Packets arrive at once. A program whose order is fully fixed by semaphores gives the same bytes
    as on the hardware.

    Parameters
    ----------
    config : Config
        Of any number of cores; a single one knows no mesh, its SEND is ILLEGAL.
    off : collection of int
        Cores that are switched off.

    Raises
    ------
    ConfigError
        When there is no such core, or none that is on.
    """

    name = "functional"

    def __init__(self, config: Config, *, off: Collection[int] = ()):
        self.config, self.off = config, switched_off(config, off)
        ext = np.zeros(config.ext_bytes, np.uint8)
        self.cores: list[_Node] = []
        for number in range(config.cores):
            self.cores.append(_Node(number, self, Memories.empty(config, ext)))

    def run_words(self, queues: Sequence[Mapping[Engine, Sequence[int]]]) -> None:
        self.check_queues(queues)
        for core, words in zip(self.cores, queues, strict=True):
            core.run_words(words)

    def wait(self, max_cycles: int = DEFAULT_MAX_CYCLES) -> list[Counters]:
        # A sum, so that every core gets its turn.
        while sum(core.advance() for core in self.cores):
            pass
        failures = {core.number: core.failure for core in self.cores if core.failure is not None}
        if failures:
            raise ClusterError(self.config, failures, self._others())
        if others := self._others():
            raise StuckError(f"no core can go on: {others}")
        return [core.counters() for core in self.cores]

    def _others(self) -> str:
        """What the cores wait for that have neither stopped nor finished."""
        return ". ".join(f"{core_name(self.config, core.number)}: {core.waiting()}"
                         for core in self.cores if core.failure is None and not core.finished)


class _Node(FunctionalDevice):
    """A core whose remote commands reach the other ones."""

    def __init__(self, number: int, cluster: FunctionalCluster, memories: Memories):
        super().__init__(cluster.config, memories=memories)
        self.number, self._cluster = number, cluster

    def advance(self) -> bool:
        """One turn of a core that has not stopped; whether anything happened."""
        if self.failure is not None:
            return False
        try:
            return self.step()
        except DeviceError:
            return True

    def execute(self, command: Command) -> tuple[int, int]:
        if not isinstance(command, Remote):
            return super().execute(command)
        reached = [self._cluster.cores[target]
                   for target in targets(command, self.config, self.number)
                   if target not in self._cluster.off]
        data = 0
        if isinstance(command, Send):
            data = command.rows * command.row_bytes
            for node in reached:
                send(command, self.memories, node.memories)
        for node in reached:
            node.receive(command.remote_signal)
        return max(1, data // self.config.bus_bytes), data

    def receive(self, mask: int) -> None:
        """Signals out of the mesh. A full semaphore stops this core, not the one that sent."""
        with suppress(DeviceError):
            self.signal(Engine.HOST, mask)

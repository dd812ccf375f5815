"""The ports of the memories that two users share, and who waits for whom.

The array reads accumulators before the vector unit, half by half; array and vector unit go before
the mover everywhere.
"""
from collections.abc import Iterable

from systolith.hw.config import Config, Region
from systolith.hw.isa import Command, Load, Move
from systolith.sw.estimate.timeline import Ints, Timeline


class Ports:
    """Timelines of the shared ports. Those that no move of the program uses are not kept.

    Parameters
    ----------
    config : Config
    moves : iterable of Command
        The mover's commands.
    """

    def __init__(self, config: Config, moves: Iterable[Command]):
        self.config = config
        #: Reads of the array from each half of the accumulators.
        self.halves = Timeline(), Timeline()
        self._system = {_key(move): Timeline() for move in moves if isinstance(move, Move)}

    def of(self, move: Move) -> Timeline:
        """The cycles in which the move's port in the core is taken."""
        return self._system[_key(move)]

    def reads(self, region: Region, cycles: Ints) -> None:
        """An engine reads a memory in these cycles."""
        self._mark((region, False), cycles)

    def writes(self, region: Region, cycles: Ints) -> None:
        """An engine writes a memory in these cycles."""
        self._mark((region, True), cycles)

    def _mark(self, key: tuple[Region, bool], cycles: Ints) -> None:
        if key in self._system:
            self._system[key].mark(cycles)


def _key(move: Move) -> tuple[Region, bool]:
    return Region(move.region), isinstance(move, Load)

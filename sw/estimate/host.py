"""The host: fills the command queues of the cores while the engines run."""
from collections.abc import Callable, Mapping, Sequence
from math import ceil

from systolith.hw.isa import ENGINES, Engine
from systolith.sw.estimate.events import Events, Phase
from systolith.sw.estimate.queues import FIRST_SAMPLE, READ, ROUND, Queues
from systolith.sw.estimate.sequencer import Sequencer


class Host:
    """Samples the room of all queues, and pushes what there is room for.

    Parameters
    ----------
    events : Events
    queues : Queues
        Of all cores.
    sequencers : sequence of mapping of Engine to Sequencer
        By core.
    pushed : callable
        Called with core and engine when there are new words.
    """

    def __init__(self, events: Events, queues: Queues,
                 sequencers: Sequence[Mapping[Engine, Sequencer]],
                 pushed: Callable[[int, Engine], None]):
        self._events, self._queues, self._pushed = events, queues, pushed
        self._sequencers = sequencers
        #: Cycles from the sample of the first core to that of each.
        self._late = [READ * core for core in range(len(sequencers))]
        self._round = ROUND + 2 * self._late[-1]
        self._sleeping: int | None = None

    def start(self) -> None:
        """The queues have been filled; go on when the cores run."""
        if not self._queues.complete:
            self._events.at(FIRST_SAMPLE + 2 * self._late[-1], Phase.HOST, self._sample)

    def _sample(self, time: int) -> None:
        """The last core's queues are sampled now, those of the others were before."""
        first = time - self._late[-1]
        taken = {(core, engine): sequencer.taken(first + late)
                 for core, (late, own) in enumerate(zip(self._late, self._sequencers, strict=True))
                 for engine, sequencer in own.items()}
        after = self._queues.sample(time, taken) + self._round - ROUND
        if after == time + self._round and not any(
                sequencer.takes(first) for own in self._sequencers for sequencer in own.values()):
            self._sleeping = after
            return
        for core in range(len(self._sequencers)):
            for engine in ENGINES:
                self._pushed(core, engine)
        if not self._queues.complete:
            self._events.at(after, Phase.HOST, self._sample)

    def wake(self, time: int) -> None:
        """A sequencer goes on after cycle ``time``, so the queues will have room again: go back to
        the samples, of which those that would have found none were left out."""
        if self._sleeping is not None:
            first = self._sleeping - self._late[-1]
            missed = max(0, ceil((time + 1 - first) / self._round))
            self._events.at(self._sleeping + missed * self._round, Phase.HOST, self._sample)
            self._sleeping = None

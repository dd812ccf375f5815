"""Several sequences on several cores, each on a core of its own.

Every core has all weights, and runs the programs of a core alone. External memory has the rows of
the tokens, which all look up.
"""
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from systolith.hw.isa import ENGINES
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.site import Site
from systolith.sw.decoder.compiled import CompiledDecoder
from systolith.sw.decoder.session import Session, StepResult, joined
from systolith.sw.runtime.cluster import Cluster
from systolith.sw.runtime.device import (
    DEFAULT_MAX_CYCLES,
    Counters,
    Device,
    Queues,
    slowest,
    sum_counters,
)
from systolith.sw.runtime.program import Program

#: Has nothing to do.
IDLE: Queues = {engine: [] for engine in ENGINES}


@dataclass(frozen=True)
class Together:
    """What sequences gave that went on at the same time.

    Parameters
    ----------
    results : sequence of StepResult or None
        Of each sequence; None where it had no tokens. Its counters are those of its core.
    counters : Counters
        Of all cores; cycles are those of the slowest in each run.
    """

    results: Sequence[StepResult | None]
    counters: Counters


class _Lane(Session):
    """The sequence of one core, which is loaded and runs with all others."""

    def _load(self) -> Counters:
        return Counters()


class SideBySideSession:
    """As many sequences as cores that are on.

    Parameters
    ----------
    compiled : CompiledDecoder
        For a core alone.
    cluster : Cluster
    slide, max_cycles
        As of :class:`Session`.

    Raises
    ------
    CompileError
        When the decoder was compiled for another core.
    """

    def __init__(self, compiled: CompiledDecoder, cluster: Cluster, *, slide: bool = False,
                 max_cycles: int = DEFAULT_MAX_CYCLES):
        core = cluster.config.core
        if compiled.config.identity != core.identity:
            raise CompileError(f"{compiled.name} was compiled for {compiled.config.name!r}, but "
                               f"the cores are {core.name!r}; compile it for one of them")
        self.cluster, self.max_cycles = cluster, max_cycles
        self.site = Site.of_machine(cluster)
        self.lanes = [_Lane(compiled, self._core(core), slide=slide, max_cycles=max_cycles)
                      for core in self.site.cores]
        setup = compiled.setup
        assert isinstance(setup, Program)
        placed = self.site.everywhere(setup)
        placed.load(cluster)
        placed.run(cluster, max_cycles)

    def _core(self, number: int) -> Device:
        return self.cluster.cores[number]

    def restart(self) -> None:
        """Forget all tokens; the weights stay."""
        for lane in self.lanes:
            lane.restart()

    def prefill(self, texts: Sequence[Sequence[int] | None]) -> Together:
        """Add tokens to each sequence; to none where it has None, or no place in the list.

        Raises
        ------
        ContextError
            When the context does not hold them.
        CompileError
            When there are more texts than cores, none at all, or a token is outside the vocabulary.
        """
        if not 1 <= len(texts) <= len(self.lanes) or all(ids is None for ids in texts):
            raise CompileError(f"{len(texts)} texts for {len(self.lanes)} cores; give at least "
                               "one, and at most one a core")
        rounds = list(zip_longest(*(
            [] if ids is None else lane.parts(ids)
            for lane, ids in zip(self.lanes, texts, strict=False))))
        found: list[list[StepResult]] = [[] for _ in texts]
        counters = [self._round(parts, found) for parts in rounds]
        return Together([joined(parts) if parts else None for parts in found],
                        sum_counters(counters))

    def step(self, tokens: Sequence[int | None]) -> Together:
        """Add one token to each sequence that has one."""
        return self.prefill([None if token is None else [token] for token in tokens])

    def _round(self, parts: Sequence[Sequence[int] | None],
               found: Sequence[list[StepResult]]) -> Counters:
        """One run of all lanes that have a part."""
        runs = [None if ids is None else lane.begin(ids)
                for lane, ids in zip(self.lanes, parts, strict=False)]
        self.cluster.run(self.site.streams([
            IDLE if run is None or ids is None else lane.compiled.commands(run, ids)
            for lane, run, ids in zip(self.lanes, runs, parts, strict=False)]))
        counters = self.cluster.wait(self.max_cycles)
        for lane, core, run, ids, results in zip(self.lanes, self.site.cores, runs, parts, found,
                                                 strict=False):
            if run is not None and ids is not None:
                results.append(lane.end(run, ids, counters[core]))
        return slowest(counters)

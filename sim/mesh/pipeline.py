"""Requests through a pipeline of cores on the RTL, one right after the other."""
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from systolith.hw.config import Config, ConfigError
from systolith.hw.isa import Engine, Move
from systolith.sim.devices import open_machine
from systolith.sim.mesh.cores import on_mesh
from systolith.sim.progress import Progress
from systolith.sim.rtl_cluster import RtlCluster
from systolith.sim.text import number, print_facts
from systolith.sw.encoder import CompiledPipeline, compile_encoder, compile_encoder_pipeline
from systolith.sw.reference.encoder import QuantizedEncoder
from systolith.sw.runtime.device import Counters

#: Cycles after which a run is given up, for each request and core.
_MOST_CYCLES = 20_000_000


@dataclass(frozen=True)
class Pipelined:
    """A run of a pipeline.

    *Steady* is the time from the first result to the last before the first core runs out of
    requests: every core has one all along.

    Parameters
    ----------
    config : str
        Name of the configuration.
    cores, stages, requests : int
        Cores beyond the stages have nothing to do.
    positions : int
        Of a request.
    cycles : int
        Of the whole run, with the time to fill and to drain the pipeline.
    interval : float
        Cycles from result to result, steady.
    busy_percent, steady_busy_percent : float
        Cycles in which arrays multiply, over those of all cores.
    one_core_cycles : int
        Of a request on one core.
    speed_up, steady_speed_up : float
        Requests a cycle, over those of one core.
    memory_percent, steady_memory_percent : float
        Of the beats that external memory could move.
    """

    config: str
    cores: int
    stages: int
    requests: int
    positions: int
    cycles: int
    interval: float
    busy_percent: float
    steady_busy_percent: float
    one_core_cycles: int
    speed_up: float
    steady_speed_up: float
    memory_percent: float
    steady_memory_percent: float

    def as_json(self) -> dict[str, object]:
        """The values under their stable keys."""
        return asdict(self)

    @property
    def _idle(self) -> str:
        spare = self.cores - self.stages
        return f" ({spare} idle: a stage has at least a layer)" if spare else ""

    def print(self) -> None:
        """Two columns: the whole run, and its steady part."""
        print_facts([
            ("pipeline", f"{self.requests} requests of {self.positions} positions on "
                         f"{self.cores} cores{self._idle}: {number(self.cycles)} cycles"),
            ("a request", f"every {self.interval:,.0f} cycles once all cores are busy; one core "
                          f"takes {number(self.one_core_cycles)}"),
            ("arrays busy", f"{self.busy_percent:.1f} % of all cycles, "
                            f"{self.steady_busy_percent:.1f} % once all cores are"),
            ("speed-up", f"{self.speed_up:.2f}, {self.steady_speed_up:.2f} once all cores are "
                         "busy"),
            ("external memory", f"{self.memory_percent:.1f} % of its beats, "
                                f"{self.steady_memory_percent:.1f} % once all cores are busy")])


def check_requests(config: Config, requests: int) -> None:
    """Raise :class:`ConfigError` when there are too few for all cores to be busy at once."""
    if config.cores < 2:
        raise ConfigError("a pipeline needs a mesh of at least 2 nodes")
    if requests <= config.cores:
        raise ConfigError(f"there must be more requests than cores, {config.cores}, not "
                          f"{requests}: else they are never all busy")


def pipeline(model: QuantizedEncoder, texts: Sequence[Sequence[int]], core: Config, width: int,
             height: int, *, progress: Progress) -> Pipelined:
    """Run texts of equal length through a pipeline, and the first of them on one core.

    Parameters
    ----------
    model : QuantizedEncoder
    texts : sequence of sequence of int
        Tokens of each request.
    core : Config
        Of one core.
    width, height : int
        Of the mesh.

    Raises
    ------
    ConfigError, CompileError
        When the mesh does not fit the model or the texts.
    RuntimeError
        When a result is not that of the reference: the RTL is broken.
    """
    config = on_mesh(core, width, height)
    check_requests(config, len(texts))
    with progress.stage("compile"):
        compiled = compile_encoder_pipeline(model, config, length=len(texts[0]), texts=len(texts))
    alone = _alone(model, texts[0], config.core, progress)
    with RtlCluster(config, progress=progress) as cluster, \
            progress.stage(f"{len(texts)} requests on {config.cores} cores"):
        compiled.load(cluster)
        result = compiled.run(cluster, texts, _MOST_CYCLES * len(texts) * config.cores)
        times = _times(compiled, cluster)
    if not result.bit_exact:
        raise RuntimeError(f"the pipeline on {config.name} is not bit exact")
    return _pipelined(compiled, result.counters, times, alone)


def _alone(model: QuantizedEncoder, ids: Sequence[int], config: Config, progress: Progress) -> int:
    """Cycles of a request on one core."""
    compiled = compile_encoder(model, config, length=len(ids))
    with open_machine("rtl", config, progress=progress) as device, \
            progress.stage("one request on one core"):
        compiled.load(device)
        result = compiled.run(device, ids, _MOST_CYCLES)
    if not result.bit_exact:
        raise RuntimeError(f"the encoder on {config.name} is not bit exact")
    return result.counters.cycles


def _times(compiled: CompiledPipeline, cluster: RtlCluster) -> list[int]:
    """Clock cycle in which the last beat of each result was written."""
    written = cluster.harness.ext_written
    inside = [(written["value"] >= place.offset) & (written["value"] < place.offset + place.size)
              for place in compiled.outputs]
    return [int(written["time"][each].max()) for each in inside]


def _pipelined(compiled: CompiledPipeline, counters: Sequence[Counters], times: Sequence[int],
               alone: int) -> Pipelined:
    config, requests = compiled.program.config, len(compiled.outputs)
    stages, cycles = len(compiled.stages), max(each.cycles for each in counters)
    steady = requests - stages
    interval = (times[steady] - times[0]) / steady
    # Of all requests; each costs the same but for what stays in the cores.
    busy = sum(each.engines[Engine.MATRIX].busy for each in counters)
    beats = sum(move.rows * move.row_bytes for streams in compiled.program.commands
                for move in streams[Engine.MOVE] if isinstance(move, Move)) / config.bus_bytes
    whole, part = np.array([cycles, interval * requests]), 100 / config.cores
    busy_percent, memory_percent = busy / whole * part, 100 * beats / whole
    return Pipelined(
        config.name, config.cores, stages, requests, compiled.length, cycles, interval,
        *map(float, busy_percent), alone, *map(float, requests * alone / whole),
        *map(float, memory_percent))

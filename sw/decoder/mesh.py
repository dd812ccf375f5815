"""A decoder on several cores: the programs of all of them, and a session on a cluster."""
from collections.abc import Mapping, Sequence

from systolith.hw.config import Config
from systolith.hw.isa import Command, Engine
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.gather import in_order
from systolith.sw.compiler.schedule_mesh import schedule_mesh
from systolith.sw.compiler.site import Duty, Site
from systolith.sw.compiler.tokens import with_tokens
from systolith.sw.compiler.verifier import verify_mesh
from systolith.sw.decoder.choose import Choice
from systolith.sw.decoder.compiled import CompiledDecoder, Run
from systolith.sw.decoder.core import DecoderCore
from systolith.sw.decoder.session import Session
from systolith.sw.decoder.share import shares_of
from systolith.sw.reference.quantized_decoder import QuantizedDecoder
from systolith.sw.runtime.cluster import Cluster
from systolith.sw.runtime.device import DEFAULT_MAX_CYCLES, Counters, Device, slowest
from systolith.sw.runtime.mesh_program import MeshProgram
from systolith.sw.runtime.program import Section


class MeshDecoder(CompiledDecoder):
    """A decoder whose heads and columns are shared out to the cores of a mesh.

    Parameters and errors are those of :class:`CompiledDecoder`; besides, all weights must fit the
    cores together.

    Parameters
    ----------
    site : Site, optional
        The cores of a machine that the programs are for, whose chip ``config`` is; by default all
        cores of ``config``.
    """

    def __init__(self, name: str, model: QuantizedDecoder, config: Config, context: int,
                 choices: tuple[Choice, ...] = (), *, site: Site | None = None):
        self.site = site or Site.of(config)
        super().__init__(name, model, config, context, choices)

    def _lay_out(self, what: str) -> list[DecoderCore]:
        cores: list[DecoderCore] = []
        for share in shares_of(self.model, self.config):
            cores.append(DecoderCore(self.model, share, self.config, self.context, what,
                                     cores[-1] if cores else None))
            if cores[-1].residents.streamed:
                raise CompileError(
                    f"the weights of {what} do not fit the {self.config.cores} cores of "
                    f"{self.config.name!r}, which share one external memory; streamed weights are "
                    f"no faster there than on {self.config.core.name!r}: take that")
        return cores

    def _program(self, cores: Sequence[Sequence[Command]], *, macs: int,
                 sections: Sequence[Sequence[Section]] = (),
                 notes: Mapping[str, object] | None = None) -> MeshProgram:
        streams = schedule_mesh(in_order(cores), self.config)
        verify_mesh(self.config, streams)
        return self.site.place(MeshProgram(self.config, streams, dict(enumerate(sections)),
                                           self.name, macs))

    def duties(self) -> list[Duty]:
        """What each core of the machine does."""
        result: list[Duty] = [{} for _ in range(self.site.config.cores)]
        for number, core in zip(self.site.cores, self.cores, strict=True):
            share = core.share
            result[number] = {
                "layers": (0, len(self.model.layers)), "heads": share.heads,
                "kv_heads": share.kv_heads, "output": share.output, "hidden": share.hidden,
                "down": share.down, "vocabulary": share.vocabulary}
        return result

    def mesh_commands(self, run: Run, ids: Sequence[int]) -> list[dict[Engine, list[Command]]]:
        """The commands of each core with the addresses of the tokens' rows."""
        assert isinstance(run.program, MeshProgram)
        return [with_tokens(streams, ids) for streams in run.program.commands]


class MeshSession(Session):
    """One sequence on a cluster. Cycles are those of the core that takes longest.

    Parameters
    ----------
    compiled : MeshDecoder
    cluster : Cluster
    slide, max_cycles
        As of :class:`Session`.
    """

    def __init__(self, compiled: MeshDecoder, cluster: Cluster, *, slide: bool = False,
                 max_cycles: int = DEFAULT_MAX_CYCLES):
        self._mesh, self.cluster = compiled, cluster
        super().__init__(compiled, cluster.cores[compiled.site.cores[0]], slide=slide,
                         max_cycles=max_cycles)

    def _load(self) -> Counters:
        setup = self._mesh.setup
        assert isinstance(setup, MeshProgram)
        setup.load(self.cluster)
        return self._wait(setup.commands)

    def _execute(self, run: Run, ids: Sequence[int]) -> Counters:
        return self._wait(self._mesh.mesh_commands(run, ids))

    def _wait(self, commands: Sequence[Mapping[Engine, Sequence[Command]]]) -> Counters:
        self.cluster.run(commands)
        return slowest(self.cluster.wait(self.max_cycles))


def open_session(compiled: CompiledDecoder, machine: Device | Cluster, *, slide: bool = False,
                 max_cycles: int = DEFAULT_MAX_CYCLES) -> Session:
    """A session on the machine for which the decoder was compiled: a device or a cluster."""
    if isinstance(machine, Cluster):
        assert isinstance(compiled, MeshDecoder)
        return MeshSession(compiled, machine, slide=slide, max_cycles=max_cycles)
    return Session(compiled, machine, slide=slide, max_cycles=max_cycles)

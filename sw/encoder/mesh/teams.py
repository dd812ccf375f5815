"""An encoder as a pipeline of teams: each team of cores has some of the layers and shares each of
them by columns, and texts go from team to team.

Within a team it is the placement by columns, between teams the pipeline of layers. So more cores
than layers have something to do, and layers that no core holds stay in a team that does.
"""
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from systolith.hw.config import Config
from systolith.hw.isa import Command, Engine
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.gather import in_order
from systolith.sw.compiler.image import Place
from systolith.sw.compiler.layout import ceil_div
from systolith.sw.compiler.schedule_mesh import schedule_mesh
from systolith.sw.compiler.sharing import even
from systolith.sw.compiler.stationary import stationary
from systolith.sw.compiler.tokens import with_tokens
from systolith.sw.compiler.verifier import verify_mesh
from systolith.sw.encoder.compiled import check_text, count_macs
from systolith.sw.encoder.mesh.lowering import MeshLowering
from systolith.sw.encoder.mesh.plan import MeshPlan, plan_mesh
from systolith.sw.encoder.mesh.share import Share, shares_of
from systolith.sw.encoder.mesh.stream import MeshStream
from systolith.sw.encoder.mesh.team import default_teams, teams_of
from systolith.sw.encoder.pipeline import RESIDUALS, CompiledPipeline
from systolith.sw.encoder.plan import Tiles
from systolith.sw.encoder.shared_image import SharedImage
from systolith.sw.encoder.stage import in_turn
from systolith.sw.reference.encoder import QuantizedEncoder
from systolith.sw.runtime.cluster import Cluster
from systolith.sw.runtime.mesh_program import MeshProgram


@dataclass(frozen=True)
class CompiledTeams(CompiledPipeline):
    """Teams ready to run on a number of texts of one length; ``stages`` are their first cores.

    Parameters
    ----------
    setup : MeshProgram
        Loads the weights that stay in the cores, once for all texts.
    shares : sequence of Share
        What each core does, team by team.
    positions : sequence of sequence of int
        By core, those of a text whose words it loads, in this order; none but in the first team.
    """

    setup: MeshProgram
    shares: Sequence[Share]
    positions: Sequence[Sequence[int]]

    def load(self, cluster: Cluster) -> None:
        self.setup.load(cluster)
        self.setup.run(cluster)

    def streams(self, texts: Sequence[Sequence[int]]) -> list[dict[Engine, list[Command]]]:
        self.check(texts)
        padding = (0,) * (self.length - self.valid)
        padded = [(*ids, *padding) for ids in texts]
        return [with_tokens(streams, [ids[position] for ids in padded for position in own],
                            self.words)
                for streams, own in zip(self.program.commands, self.positions, strict=True)]


class TeamCore:
    """Writes the commands of one core of a team, text by text.

    Parameters
    ----------
    model : QuantizedEncoder
    plan : MeshPlan
        Of the core, with residuals of several texts.
    config : Config
    image : SharedImage
        Of all cores.
    blocks : int
        Blocks of the core that has most of them.
    texts : int
        How many a run has.
    """

    def __init__(self, model: QuantizedEncoder, plan: MeshPlan, config: Config, image: SharedImage,
                 blocks: int, texts: int):
        self._model, self._plan, self._config, self._blocks = model, plan, config, blocks
        self.weights = MeshStream(model, plan, config, image, texts)
        #: Where the unit vector of each text is stored, by the lead of the last team.
        self.outputs: list[Place] = []
        first = plan.share.layers[0] == 0
        #: Positions whose words the core loads.
        self.embedded = [plan.first + row for block in self._lowering(0).blocks
                         for row in range(*plan.share.embedded(block)) if first]

    def text(self, number: int) -> list[Command]:
        """The commands of a text; call it for each of them in turn."""
        share, lowering = self._plan.share, self._lowering(number)
        if share.leads and share.layers[1] == len(self._model.layers):
            self.outputs.append(self.weights.next_output())
        start = () if number else lowering.resident()
        return [stationary(each) for each in chain(start, lowering.text(lets_load=not number))]

    def _lowering(self, text: int) -> MeshLowering:
        return MeshLowering(self._model, self._plan.text(text), self.weights, self._config,
                            self._blocks)


@dataclass(frozen=True)
class TeamStage:
    """A team as a stage of a pipeline; its cores by their numbers."""

    cores: dict[int, TeamCore]

    def texts(self, count: int) -> Iterator[list[tuple[int, Command]]]:
        """(core, command) of each of ``count`` texts, in an order in which they could run one by
        one."""
        numbers = list(self.cores)
        for text in range(count):
            commands = in_order([core.text(text) for core in self.cores.values()])
            yield [(numbers[place], command) for place, command in commands]


def compile_encoder_teams(model: QuantizedEncoder, config: Config, *, length: int, texts: int,
                          valid: int | None = None, teams: int | None = None,
                          name: str = "encoder") -> CompiledTeams:
    """Compile an encoder for a number of texts, one right after the other, on teams of cores.

    Parameters
    ----------
    model : QuantizedEncoder
    config : Config
        Of the mesh.
    length : int
        Positions of each text.
    texts : int
        How many go through in one run.
    valid : int, optional
        Positions that are tokens, in each text; the ones after them are padding.
    teams : int, optional
        Number of teams; :func:`default_teams` chooses it by default.

    Raises
    ------
    CompileError
        When the mesh cannot be divided into so many, there are more teams than layers, a layer
        does not fit into a team, or another parameter is outside its limit.
    """
    valid, what = check_text(model, config, length, valid), f"{name} at length {length}"
    if texts < 1:
        raise CompileError(f"a pipeline needs at least 1 text, not {texts}")
    shares = _shares(model, config, length, teams)
    plan = plan_mesh(model, config, length, valid, shares[0][0], what, RESIDUALS)
    image = SharedImage(config)
    stages = [_stage(model, config, own, plan, image, texts) for own in shares]
    commands = in_turn(stages, texts)
    image.check(what)
    cores = {number: core for stage in stages for number, core in stage.cores.items()}
    settled = [{Engine.MOVE: cores[number].weights.settled} for number in range(config.cores)]
    streams = schedule_mesh(commands, config)
    for queues in (settled, streams):
        verify_mesh(config, queues)
    leads = [own[0].number for own in shares]
    return CompiledTeams(
        MeshProgram(config, streams, {}, name, texts * count_macs(model, config, length, valid)),
        model, leads, length, valid, cores[leads[-1]].outputs, cores[0].weights.words.offset,
        MeshProgram(config, settled, {0: tuple(image.sections)}, name),
        [*chain.from_iterable(shares)],
        [cores[number].embedded for number in range(config.cores)])


def _shares(model: QuantizedEncoder, config: Config, length: int, count: int | None
            ) -> list[list[Share]]:
    """The shares of each team."""
    layers = len(model.layers)
    if count is None:
        count = default_teams(config, layers)
    if count > layers:
        raise CompileError(f"{count} teams for {layers} layers: each team needs at least one; "
                           f"choose at most {layers}")
    teams = teams_of(config, count)
    return [shares_of(model, config, length, team, own, following) for team, own, following in
            zip(teams, even(layers, count), [*teams[1:], None], strict=True)]


def _stage(model: QuantizedEncoder, config: Config, shares: Sequence[Share], plan: MeshPlan,
           image: SharedImage, texts: int) -> TeamStage:
    """A team, whose places are those of the first one."""
    blocks, cores = ceil_div(plan.length, plan.block), dict[int, TeamCore]()
    for share in shares:
        own = plan.of(share, Tiles.of(model, config, share.heads[1] - share.heads[0]))
        cores[share.number] = TeamCore(model, own, config, image, blocks, texts)
    return TeamStage(cores)

"""Teams of cores as a placement: texts of one length, one right after the other."""
from dataclasses import dataclass, replace

from systolith.sw.compiler.site import Duty, Site
from systolith.sw.encoder.mesh.share import granule_of, least_length
from systolith.sw.encoder.mesh.team import default_teams, teams_of
from systolith.sw.encoder.mesh.teams import CompiledTeams, compile_encoder_teams
from systolith.sw.encoder.placed import whole
from systolith.sw.encoder.placed_pipeline import PlacedPipeline
from systolith.sw.reference.encoder import QuantizedEncoder
from systolith.sw.runtime.cluster import Cluster
from systolith.sw.runtime.mesh_program import MeshProgram


def texts_of(site: Site) -> int:
    """Texts of a run: two for each team of two cores, more for each larger one."""
    return len(site.cores)


@dataclass(frozen=True)
class PlacedTeams(PlacedPipeline):
    """A team of cores has some of the layers and shares their columns; texts go from team to team.

    Parameters
    ----------
    compiled : CompiledTeams
        For the machine.
    site : Site
    """

    compiled: CompiledTeams
    site: Site

    @classmethod
    def of(cls, site: Site, model: QuantizedEncoder, length: int, name: str,
           teams: int | None = None) -> "PlacedTeams":
        """Compile for the site's chip, and put it onto the machine. A short text gets positions
        that are no tokens, so that each row of a team has some.

        Errors are those of :func:`compile_encoder_teams`.
        """
        chip = site.chip
        count = default_teams(chip, len(model.layers)) if teams is None else teams
        least = min(least_length(teams_of(chip, count)[0], granule_of(chip)), model.positions)
        compiled = compile_encoder_teams(model, chip, length=max(length, least), valid=length,
                                         texts=texts_of(site), teams=count, name=name)
        positions: list[list[int]] = [[] for _ in range(site.config.cores)]
        for core, own in zip(site.cores, compiled.positions, strict=True):
            positions[core] = [*own]
        return cls(replace(
            compiled, setup=site.place(compiled.setup), program=site.place(compiled.program),
            stages=[site.cores[stage] for stage in compiled.stages], positions=positions), site)

    def load(self, cluster: Cluster) -> None:
        self.compiled.load(cluster)

    @property
    def setup(self) -> MeshProgram:
        return self.compiled.setup

    def duties(self) -> list[Duty]:
        duties: list[Duty] = [{} for _ in range(self.site.config.cores)]
        stages = self.compiled.stages
        for share in self.compiled.shares:
            team = stages.index(self.site.cores[share.lead])
            duties[self.site.cores[share.number]] = {
                "team": (team, team + 1), **whole(self.compiled.model), "layers": share.layers,
                "heads": share.heads, "columns": share.columns, "positions": share.positions}
        return duties

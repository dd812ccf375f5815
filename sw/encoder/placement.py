"""The ways in which a machine of several cores runs an encoder, by the names that users give them.

A way takes an encoder and the cores that there are, and gives a program for the machine. What it
compiles need not know where the cores are, see :mod:`systolith.sw.compiler.site`.
"""
from collections.abc import Callable
from dataclasses import dataclass

from systolith.hw.config import ConfigError
from systolith.sw.compiler.site import Site
from systolith.sw.encoder.mesh import compile_encoder_mesh
from systolith.sw.encoder.mesh.share import granule_of, least_length
from systolith.sw.encoder.mesh.team import Team
from systolith.sw.encoder.placed import PlacedEncoder, PlacedText
from systolith.sw.encoder.placed_pipeline import PlacedPipeline, texts_of
from systolith.sw.encoder.placed_teams import PlacedTeams
from systolith.sw.encoder.placed_teams import texts_of as texts_of_teams
from systolith.sw.encoder.side_by_side import compile_encoder_side_by_side
from systolith.sw.reference.encoder import QuantizedEncoder


@dataclass(frozen=True)
class Placement:
    """A way to run an encoder on several cores.

    Parameters
    ----------
    about : str
        What is shared out, for help and messages.
    compile : function of (model, site, length, name)
        The program for texts of so many tokens.
    at_once : function of (site)
        Texts that run at the same time.
    """

    about: str
    compile: Callable[[QuantizedEncoder, Site, int, str], PlacedEncoder]
    at_once: Callable[[Site], int]


def _by_columns(model: QuantizedEncoder, site: Site, length: int, name: str) -> PlacedEncoder:
    """A short text gets positions that are no tokens, so that each row of cores has some."""
    chip = site.chip
    least = least_length(Team.whole(chip), granule_of(chip))
    return PlacedText.on(site, compile_encoder_mesh(
        model, chip, length=max(length, min(least, model.positions)), valid=length, name=name))


def _side_by_side(model: QuantizedEncoder, site: Site, length: int, name: str) -> PlacedEncoder:
    return compile_encoder_side_by_side(model, site, length=length, name=name)


def _by_layers(model: QuantizedEncoder, site: Site, length: int, name: str) -> PlacedEncoder:
    return PlacedPipeline.on(site, model, length, name)


def _by_teams(model: QuantizedEncoder, site: Site, length: int, name: str) -> PlacedEncoder:
    return PlacedTeams.of(site, model, length, name)


#: The only placement for which a number of teams can be chosen.
TEAMS = "groups"

#: By name; the first is taken where the user names none.
PLACEMENTS = {
    "columns": Placement("each core has some heads and columns of one text", _by_columns,
                         lambda site: 1),
    "layers": Placement("each core has some layers, texts go from core to core", _by_layers,
                        texts_of),
    TEAMS: Placement("each team of cores has some layers and shares their heads and columns, "
                     "texts go from team to team", _by_teams, texts_of_teams),
    "texts": Placement("each core has a text of its own", _side_by_side,
                       lambda site: len(site.cores)),
}


#: Leaves the choice among them to the cycle model, see :mod:`systolith.sw.encoder.automatic`.
AUTO = "auto"


def placement_of(name: str | None) -> Placement:
    """The placement of that name; the first for None.

    Raises
    ------
    ConfigError
        When there is none; the message lists those that exist.
    """
    chosen = name or next(iter(PLACEMENTS))
    if chosen not in PLACEMENTS:
        raise ConfigError(f"an encoder has no placement {chosen!r}; choose one of " + ", ".join(
            f"{each} ({placement.about})" for each, placement in PLACEMENTS.items())
            + f", {AUTO} (what the cycle model finds fastest)")
    return PLACEMENTS[chosen]


def check_teams(placement: str | None, teams: int | None) -> None:
    """Raise :class:`ConfigError` where a number of teams is given for another placement."""
    if teams is not None and placement != TEAMS:
        raise ConfigError(f"a number of teams, {teams}, is for placement {TEAMS!r} alone, not for "
                          f"{placement or next(iter(PLACEMENTS))!r}; choose that, or leave the "
                          "number out")


def texts_at_once(site: Site, placement: str | None) -> int:
    """Texts that run at the same time.

    Raises
    ------
    ConfigError
        When there is no such placement, or it is given for a single core.
    """
    check_placement(site, placement)
    return placement_of(placement).at_once(site) if site.config.cores > 1 else 1


def check_placement(site: Site, placement: str | None) -> None:
    """Raise :class:`ConfigError` when there is no such placement, or it is given for a single core.
    """
    if site.config.cores > 1 and placement != AUTO:
        placement_of(placement)
    elif site.config.cores == 1 and placement is not None:
        raise ConfigError(f"placement {placement!r} needs several cores, and {site.config.name!r} "
                          "has one; choose a mesh such as 'mesh4'")


def compile_encoder_placed(model: QuantizedEncoder, site: Site, *, length: int,
                           name: str = "encoder", placement: str | None = None,
                           teams: int | None = None) -> PlacedEncoder:
    """Compile an encoder for texts of ``length`` tokens on the cores of a site.

    Parameters
    ----------
    placement : str, optional
        One of :data:`PLACEMENTS`; the first by default.
    teams : int, optional
        How many, for :data:`TEAMS`; chosen by the layers and the mesh by default.

    Raises
    ------
    ConfigError
        When there is no such placement, or it has no teams and their number is given.
    CompileError
        When the model cannot be placed so, or does not fit.
    """
    check_teams(placement, teams)
    if teams is not None:
        return PlacedTeams.of(site, model, length, name, teams)
    return placement_of(placement).compile(model, site, length, name)

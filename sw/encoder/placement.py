"""The ways in which a machine of several cores runs an encoder, by the names that users give them.

A way takes an encoder and the cores that there are, and gives a program for the machine. What it
compiles need not know where the cores are, see :mod:`systolith.sw.compiler.site`.
"""
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from systolith.hw.config import Config, ConfigError
from systolith.sw.compiler.site import Duty, Site
from systolith.sw.encoder.mesh import CompiledMeshEncoder, compile_encoder_mesh
from systolith.sw.encoder.side_by_side import SideBySideEncoder, compile_encoder_side_by_side
from systolith.sw.reference.encoder import QuantizedEncoder
from systolith.sw.runtime.cluster import Cluster
from systolith.sw.runtime.device import DEFAULT_MAX_CYCLES, Counters

#: Programs of several cores.
MeshEncoder = CompiledMeshEncoder | SideBySideEncoder


@dataclass(frozen=True)
class Placement:
    """A way to run an encoder on several cores.

    Parameters
    ----------
    about : str
        What is shared out, for help and messages.
    compile : function of (model, site, length, name)
        The program for texts of so many tokens.
    duties : function of (program)
        What each core of the machine does, as a :data:`Duty`.
    at_once : function of (site)
        Texts that run at the same time.
    """

    about: str
    compile: Callable[[QuantizedEncoder, Site, int, str], MeshEncoder]
    duties: Callable[[Any], list[Duty]]
    at_once: Callable[[Site], int] = lambda site: 1


def _by_positions(model: QuantizedEncoder, site: Site, length: int,
                  name: str) -> CompiledMeshEncoder:
    """A short text gets positions that are no tokens, so that each core has some."""
    chip = site.chip
    compiled = compile_encoder_mesh(model, chip, length=_padded(model, chip, length),
                                    valid=length, name=name)
    return on_site(compiled, site)


def _padded(model: QuantizedEncoder, chip: Config, length: int) -> int:
    """Positions of which each core has a tile, as far as the model has so many."""
    least = (chip.cores - 1) * max(chip.rows, chip.cols) + 1
    return max(length, min(least, model.positions))


def on_site(compiled: CompiledMeshEncoder, site: Site) -> CompiledMeshEncoder:
    """An encoder that was compiled for the site's chip, on the machine."""
    if site.whole:
        return compiled
    positions = [(0, 0)] * site.config.cores
    for core, own in zip(site.cores, compiled.positions, strict=True):
        positions[core] = own
    return replace(compiled, program=site.place(compiled.program), positions=positions)


def _side_by_side(model: QuantizedEncoder, site: Site, length: int,
                  name: str) -> SideBySideEncoder:
    return compile_encoder_side_by_side(model, site, length=length, name=name)


def _parts_of_a_text(compiled: CompiledMeshEncoder) -> list[Duty]:
    return [{**_all(compiled.model), "positions": own} if own[0] < own[1] else {}
            for own in compiled.positions]


def _a_text_each(compiled: SideBySideEncoder) -> list[Duty]:
    duties: list[Duty] = [{} for _ in range(compiled.site.config.cores)]
    for text, core in enumerate(compiled.site.cores):
        duties[core] = {**_all(compiled.alone.model), "positions": (0, compiled.alone.length),
                        "texts": (text, text + 1)}
    return duties


def _all(model: QuantizedEncoder) -> Duty:
    return {"layers": (0, len(model.layers)), "heads": (0, model.heads),
            "columns": (0, model.width)}


#: By name; the first is taken where the user names none.
PLACEMENTS = {
    "positions": Placement("each core has a part of a text's positions", _by_positions,
                           _parts_of_a_text),
    "texts": Placement("each core has a text of its own", _side_by_side, _a_text_each,
                       lambda site: len(site.cores)),
}


def placement_of(name: str | None) -> Placement:
    """The placement of that name; the first for None.

    Raises
    ------
    ConfigError
        When there is none; the message lists those that exist.
    """
    chosen = name or next(iter(PLACEMENTS))
    if chosen not in PLACEMENTS:
        raise ConfigError(f"an encoder has no placement {chosen!r}; choose one of "
                          f"{', '.join(PLACEMENTS)}")
    return PLACEMENTS[chosen]


def texts_at_once(site: Site, placement: str | None) -> int:
    """Texts that run at the same time.

    Raises
    ------
    ConfigError
        When there is no such placement, or it is given for a single core.
    """
    if site.config.cores > 1:
        return placement_of(placement).at_once(site)
    if placement is not None:
        raise ConfigError(f"placement {placement!r} needs several cores, and {site.config.name!r} "
                          "has one; choose a mesh such as 'mesh4'")
    return 1


def compile_encoder_placed(model: QuantizedEncoder, site: Site, *, length: int,
                           name: str = "encoder", placement: str | None = None) -> MeshEncoder:
    """Compile an encoder for texts of ``length`` tokens on the cores of a site.

    Parameters
    ----------
    placement : str, optional
        One of :data:`PLACEMENTS`; the first by default.

    Raises
    ------
    ConfigError
        When there is no such placement.
    CompileError
        When the model cannot be placed so, or does not fit.
    """
    return placement_of(placement).compile(model, site, length, name)


def embed_texts(program: MeshEncoder, cluster: Cluster, texts: Sequence[Sequence[int]],
                max_cycles: int = DEFAULT_MAX_CYCLES) -> tuple[list[NDArray[np.int16]], Counters]:
    """INT16 (d,), Q0.15, of as many texts as run at the same time, or fewer; and the counters."""
    if isinstance(program, SideBySideEncoder):
        return program.embed_texts(cluster, texts, max_cycles)
    [ids] = texts
    vector, counters = program.embed(cluster, ids, max_cycles)
    return [vector], counters

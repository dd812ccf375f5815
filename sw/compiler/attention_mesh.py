"""Attention by itself over the cores of a mesh: each core has a share of the heads."""
from collections.abc import Sequence
from dataclasses import dataclass

from systolith.hw.config import Config
from systolith.sw.compiler.attention_alone import CompiledMix, MixedResult, compile_attention_alone
from systolith.sw.compiler.errors import CompileError
from systolith.sw.runtime.cluster import Cluster
from systolith.sw.runtime.device import DEFAULT_MAX_CYCLES
from systolith.sw.runtime.mesh_program import MeshProgram


@dataclass(frozen=True)
class CompiledMeshMix:
    """The program, and what each core computes, in the order of the heads."""

    program: MeshProgram
    parts: Sequence[CompiledMix]

    def run(self, cluster: Cluster, max_cycles: int = DEFAULT_MAX_CYCLES) -> list[MixedResult]:
        """Load, run, read back and compare, core by core; cores run side by side, so the time is
        that of the largest ``counters.cycles``."""
        self.program.load(cluster)
        counters = self.program.run(cluster, max_cycles)
        return [part.result(core, each)
                for part, core, each in zip(self.parts, cluster.cores, counters, strict=True)]


def compile_attention_mesh(config: Config, *, length: int, heads: int, head_dim: int,
                           causal: bool = False, seed: int = 0) -> CompiledMeshMix:
    """Attention of random operands that are in the cores at the start, as
    :func:`compile_attention_alone`; core ``n`` has heads ``n * heads / cores`` and on.

    Parameters
    ----------
    config : Config
        Of a mesh whose cores divide ``heads``.
    length, heads, head_dim, causal
        As there; ``heads`` of the whole machine.
    seed : int
        Core ``n`` has operands of ``seed * cores + n``.

    Raises
    ------
    CompileError
        When the heads are not shared evenly, or a core's share does not fit.
    """
    if heads % config.cores:
        raise CompileError(f"heads must be a multiple of the {config.cores} cores of "
                           f"{config.name}, not {heads}")
    parts = [compile_attention_alone(config.core, length=length, heads=heads // config.cores,
                                     head_dim=head_dim, causal=causal,
                                     seed=seed * config.cores + core)
             for core in range(config.cores)]
    program = MeshProgram(config, [part.program.commands for part in parts],
                          {core: part.program.sections for core, part in enumerate(parts)},
                          f"attention of {heads} heads of {head_dim} at length {length}",
                          sum(part.macs for part in parts))
    return CompiledMeshMix(program, parts)

"""What every encoder on several cores offers, however they share the work."""
import abc
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from systolith.sw.compiler.site import Duty, Site
from systolith.sw.encoder.mesh import CompiledMeshEncoder
from systolith.sw.reference.encoder import QuantizedEncoder
from systolith.sw.runtime.cluster import Cluster
from systolith.sw.runtime.device import DEFAULT_MAX_CYCLES, Counters
from systolith.sw.runtime.mesh_program import MeshProgram


class PlacedEncoder(abc.ABC):
    """An encoder for texts of one length, on cores of a machine."""

    @property
    @abc.abstractmethod
    def program(self) -> MeshProgram:
        """What the machine runs."""

    @property
    def setup(self) -> MeshProgram | None:
        """What runs once before all texts, if anything does."""
        return None

    @abc.abstractmethod
    def duties(self) -> list[Duty]:
        """What each core of the machine does."""

    @abc.abstractmethod
    def embed_texts(self, cluster: Cluster, texts: Sequence[Sequence[int]],
                    max_cycles: int = DEFAULT_MAX_CYCLES
                    ) -> tuple[list[NDArray[np.int16]], Counters]:
        """Run on a cluster that :meth:`load` has prepared, as many texts as run at the same time,
        or fewer.

        Returns
        -------
        list of INT16 (d,), Q0.15
            Of each text.
        Counters
            Of all cores; cycles are those of the slowest.

        Raises
        ------
        CompileError
            When there are more texts, the number of tokens is not the compiled one, or one is
            outside the vocabulary.
        """

    def load(self, cluster: Cluster) -> None:
        """Write weights and words to the cluster, once for all texts."""
        self.program.load(cluster)


@dataclass(frozen=True)
class PlacedText(PlacedEncoder):
    """All cores work on one text, each on some heads and columns of some of its positions.

    Parameters
    ----------
    compiled : CompiledMeshEncoder
        For the machine.
    shared : sequence of mapping
        What each core does.
    """

    compiled: CompiledMeshEncoder
    shared: Sequence[Duty]

    @classmethod
    def on(cls, site: Site, compiled: CompiledMeshEncoder) -> "PlacedText":
        """What was compiled for the site's chip, on the machine."""
        words: list[Sequence[int]] = [()] * site.config.cores
        shared: list[Duty] = [{} for _ in range(site.config.cores)]
        for core, share, own in zip(site.cores, compiled.shares, compiled.positions, strict=True):
            words[core] = own
            shared[core] = {**whole(compiled.model), "heads": share.heads,
                            "columns": share.columns, "positions": share.positions}
        return cls(replace(compiled, setup=site.place(compiled.setup),
                           program=site.place(compiled.program), positions=words), shared)

    def load(self, cluster: Cluster) -> None:
        self.compiled.load(cluster)

    @property
    def program(self) -> MeshProgram:
        return self.compiled.program

    @property
    def setup(self) -> MeshProgram:
        return self.compiled.setup

    def duties(self) -> list[Duty]:
        return list(self.shared)

    def embed_texts(self, cluster: Cluster, texts: Sequence[Sequence[int]],
                    max_cycles: int = DEFAULT_MAX_CYCLES
                    ) -> tuple[list[NDArray[np.int16]], Counters]:
        [ids] = texts
        vector, counters = self.compiled.embed(cluster, ids, max_cycles)
        return [vector], counters


def whole(model: QuantizedEncoder) -> Duty:
    """All layers, heads and columns of an encoder."""
    return {"layers": (0, len(model.layers)), "heads": (0, model.heads),
            "columns": (0, model.width)}

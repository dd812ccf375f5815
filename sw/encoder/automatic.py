"""The placement of an encoder that is fastest, by the cycle model of the mesh."""
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.site import Site
from systolith.sw.encoder.placement import PLACEMENTS, compile_encoder_placed
from systolith.sw.estimate import ExternalMemory, MeshEstimate, estimate_mesh
from systolith.sw.reference.encoder import QuantizedEncoder


@dataclass(frozen=True)
class Candidate:
    """A placement and what the cycle model says of it.

    Parameters
    ----------
    placement : str
        One of :data:`PLACEMENTS`.
    texts : int
        That run at the same time.
    estimate : MeshEstimate or None
        Of a run of so many; None where the encoder cannot be placed so.
    refused : str
        Why not.
    """

    placement: str
    texts: int
    estimate: MeshEstimate | None
    refused: str = ""

    def cycles(self, texts: int) -> int:
        """Cycles of so many texts, in as many runs as they take."""
        assert self.estimate is not None
        return -(-texts // self.texts) * self.estimate.cycles

    @property
    def cycles_per_text(self) -> float:
        """Where there are always enough of them."""
        assert self.estimate is not None
        return self.estimate.cycles / self.texts


def candidates(model: QuantizedEncoder, site: Site, *, length: int, name: str = "encoder",
               external: ExternalMemory | None = None,
               tried: Callable[[str], None] = lambda name: None) -> list[Candidate]:
    """Compile an encoder in each way, and play its program.

    Parameters
    ----------
    model : QuantizedEncoder
    site : Site
        Several cores.
    length : int
        Tokens of a text.
    external : ExternalMemory, optional
        By default, that of the simulator.
    tried : function of (name), optional
        Called before each placement.

    Raises
    ------
    CompileError
        When the encoder can be placed in none of them; the message says why not.
    """
    found = []
    for placement, way in PLACEMENTS.items():
        tried(placement)
        texts = way.at_once(site)
        try:
            program = compile_encoder_placed(model, site, length=length, name=name,
                                             placement=placement).program
        except CompileError as error:
            found.append(Candidate(placement, texts, None, str(error)))
            continue
        found.append(Candidate(placement, texts,
                               estimate_mesh(site.config, program.commands, external)))
    if all(each.estimate is None for each in found):
        raise CompileError(f"{name} cannot be placed on {site.config.name!r}: " + "; ".join(
            f"{each.placement}: {each.refused}" for each in found))
    return found


def fastest(found: Sequence[Candidate], texts: int | None = None) -> Candidate:
    """The candidate that takes the fewest cycles for so many texts, or for each of very many."""
    possible = [each for each in found if each.estimate is not None]
    return min(possible, key=lambda each: (each.cycles_per_text if texts is None
                                           else each.cycles(texts)))

"""Texts in, embeddings out."""
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from systolith.hw.config import Config
from systolith.sw.compiler.site import Site
from systolith.sw.encoder.automatic import candidates, fastest
from systolith.sw.encoder.compiled import CompiledEncoder, compile_encoder, count_macs
from systolith.sw.encoder.placed import PlacedEncoder
from systolith.sw.encoder.placement import (
    AUTO,
    check_placement,
    check_teams,
    compile_encoder_placed,
    texts_at_once,
)
from systolith.sw.encoder.quantize import quantize_encoder
from systolith.sw.encoder.scales import calibrate_encoder
from systolith.sw.models.bert import Encoder
from systolith.sw.reference.bert import unit
from systolith.sw.reference.encoder import UNIT_BITS, QuantizedEncoder
from systolith.sw.reference.numerics import Ints
from systolith.sw.reference.weights import Floats
from systolith.sw.runtime.cluster import Cluster
from systolith.sw.runtime.device import DEFAULT_MAX_CYCLES, Counters, Device


def quantized_encoder(encoder: Encoder) -> QuantizedEncoder:
    """The integer encoder, calibrated on the model's own samples."""
    return quantize_encoder(encoder.weights, calibrate_encoder(encoder.weights,
                                                               encoder.calibration()))


@dataclass(frozen=True)
class Batch:
    """Texts that ran at the same time: unit vectors (texts, d), useful multiply-accumulates,
    counters, and the cores that were on and had nothing to do."""

    vectors: Floats
    macs: int
    counters: Counters
    idle: tuple[int, ...]


class EncoderSession:
    """An encoder on a machine. A program is compiled for each length of a text, once.

    Parameters
    ----------
    encoder : Encoder
    machine : Device or Cluster
        Of a configuration with external memory.
    max_cycles : int
        Cycles after which a run is given up.
    placement : str, optional
        How several cores share the work, see :data:`systolith.sw.encoder.placement.PLACEMENTS`;
        with ``auto``, what is fastest for the texts of each length by the cycle model.
    teams : int, optional
        How many there are, for placement ``groups``.

    Attributes
    ----------
    counters : Counters
        Of the last run.

    Raises
    ------
    ConfigError
        When a placement is given for a single core, there is none of that name, or it has no
        teams and their number is given.
    """

    def __init__(self, encoder: Encoder, machine: Device | Cluster, *,
                 max_cycles: int = DEFAULT_MAX_CYCLES, placement: str | None = None,
                 teams: int | None = None):
        self.encoder, self.machine, self.max_cycles = encoder, machine, max_cycles
        check_teams(placement, teams)
        check_placement(Site.of_machine(machine), placement)
        self.placement, self.teams = placement, teams
        #: The placement for texts of each length.
        self.placements: dict[int, str | None] = {}
        self.model = quantized_encoder(encoder)
        self.counters = Counters()
        self._programs: dict[int, CompiledEncoder | PlacedEncoder] = {}
        self._loaded: int | None = None

    @property
    def config(self) -> Config:
        """Of the machine."""
        return self.machine.config

    def program(self, length: int) -> CompiledEncoder | PlacedEncoder:
        """The program for texts of ``length`` tokens: for a core alone, or for all that are on.

        Raises
        ------
        CompileError
            When it does not fit the machine's configuration.
        """
        if length not in self._programs:
            self._programs[length] = self._compile(length)
        return self._programs[length]

    def _compile(self, length: int) -> CompiledEncoder | PlacedEncoder:
        name = self.encoder.name
        if isinstance(self.machine, Cluster):
            return compile_encoder_placed(self.model, Site.of_machine(self.machine), length=length,
                                          name=name, placement=self._placement(length, 1),
                                          teams=self.teams)
        return compile_encoder(self.model, self.config, length=length, name=name)

    def embed(self, texts: Sequence[str],
              progress: Callable[[int, int], None] | None = None) -> Floats:
        """Unit vectors (texts, d).

        Parameters
        ----------
        progress : function of (texts done, texts), optional

        Raises
        ------
        ModelError
            When a text is empty or too long.
        """
        vectors, done = np.zeros((len(texts), self.model.width)), 0
        for group in self.groups(texts):
            vectors[list(group)] = self.run([texts[text] for text in group]).vectors
            done += len(group)
            if progress is not None:
                progress(done, len(texts))
        return vectors

    def groups(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Which of the texts run at the same time, by their places in the list: those of one
        length, as many as the machine takes.

        Raises
        ------
        ModelError
            When a text is empty or too long.
        """
        if self.placement != AUTO and self._at_once(self.placement) == 1:
            return [(place,) for place in range(len(texts))]
        lengths = [len(self.encoder.encode(text)) for text in texts]
        order = sorted(range(len(texts)), key=lengths.__getitem__)
        result: list[tuple[int, ...]] = []
        for length, same in groupby(order, key=lengths.__getitem__):
            places = tuple(same)
            at_once = self._at_once(self._placement(length, len(places)))
            result += [places[first:first + at_once] for first in range(0, len(places), at_once)]
        return result

    def _at_once(self, placement: str | None) -> int:
        return texts_at_once(Site.of_machine(self.machine), placement)

    def _placement(self, length: int, texts: int) -> str | None:
        """The placement for texts of a length, of which there are so many when it is first asked
        for."""
        if length not in self.placements:
            self.placements[length] = self.placement
            if self.placement == AUTO:
                found = candidates(self.model, Site.of_machine(self.machine), length=length,
                                   name=self.encoder.name)
                self.placements[length] = fastest(found, texts).placement
        return self.placements[length]

    def run(self, texts: Sequence[str]) -> Batch:
        """Run texts of a group, see :meth:`groups`.

        Raises
        ------
        ModelError
            When a text is empty or too long.
        """
        ids = [self.encoder.encode(text) for text in texts]
        length = len(ids[0])
        program = self.program(length)
        if self._loaded != length:
            self._load(program)
            self._loaded = length
        vectors = np.array(self._run(program, ids), np.int64)
        macs = count_macs(self.model, self.config, length, length)
        idle = () if isinstance(program, CompiledEncoder) else Site.of_machine(
            self.machine).idle(program.duties())
        return Batch(as_floats(vectors), macs * len(texts), self.counters, idle)

    def _load(self, program: CompiledEncoder | PlacedEncoder) -> None:
        if isinstance(self.machine, Cluster):
            assert not isinstance(program, CompiledEncoder)
            program.load(self.machine)
        else:
            assert isinstance(program, CompiledEncoder)
            program.load(self.machine)

    def _run(self, program: CompiledEncoder | PlacedEncoder,
             ids: Sequence[Sequence[int]]) -> Sequence[NDArray[np.int16]]:
        """Run one text, or as many as run at the same time."""
        if isinstance(self.machine, Cluster):
            assert not isinstance(program, CompiledEncoder)
            vectors, self.counters = program.embed_texts(self.machine, ids, self.max_cycles)
            return vectors
        assert isinstance(program, CompiledEncoder)
        vector, self.counters = program.embed(self.machine, ids[0], self.max_cycles)
        return [vector]

    def similarity(self, first: str, second: str) -> float:
        """Cosine of the angle between the embeddings of two texts, -1 to 1."""
        a, b = self.embed([first, second])
        return float(a @ b)


def as_floats(vector: Ints) -> Floats:
    """INT16 (..., d), Q0.15, as unit vectors."""
    return unit(vector / (1 << UNIT_BITS))

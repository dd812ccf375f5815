"""A conversation with a decoder on a device: prefill, then one token after the other."""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from systolith.hw.config import Region
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.layout import ceil_div, from_vector_words
from systolith.sw.compiler.tokens import check_tokens
from systolith.sw.decoder.compiled import CompiledDecoder, Run, Shape
from systolith.sw.decoder.work import Work, total_work
from systolith.sw.reference.weights import Floats
from systolith.sw.runtime.device import DEFAULT_MAX_CYCLES, Counters, Device, sum_counters
from systolith.sw.runtime.program import Program

#: Part of a full context that a sliding window keeps.
KEEP = 0.5


@dataclass(frozen=True)
class StepResult:
    """What a prefill or a step gave.

    Parameters
    ----------
    token : int
        The most likely next token, which the accelerator has found.
    position : int
        Positions in the cache before.
    length : int
        Positions that were added.
    logits : (rows, V) INT16
        Of the last position, or of all that were added where all were asked for.
    logit_scale : float
        What one unit of a logit stands for.
    counters : Counters
        Summed over the runs.
    macs : int
        Useful multiply-accumulates.
    runs : int
        Programs that ran.
    work : tuple of Work
        What each part of the model needed of the engines, summed over the runs.
    """

    token: int
    position: int
    length: int
    logits: NDArray[np.int16]
    logit_scale: float
    counters: Counters
    macs: int
    runs: int
    work: tuple[Work, ...]

    @property
    def scores(self) -> Floats:
        """Logits in floating point, (rows, V)."""
        return self.logits * self.logit_scale


class ContextError(CompileError):
    """More tokens than the context holds."""


class Session:
    """One sequence on a device.

    Weights, tables, and the keys and values of all positions stay in the core. What an earlier
    session left in the memories never changes a result.

    Parameters
    ----------
    compiled : CompiledDecoder
    device : Device
    slide : bool
        At a full context, start again from the last half of it instead of raising.
    max_cycles : int
        Limit of each run.

    Raises
    ------
    ProgramError
        When the device has another configuration.
    """

    def __init__(self, compiled: CompiledDecoder, device: Device, *, slide: bool = False,
                 max_cycles: int = DEFAULT_MAX_CYCLES):
        self.compiled, self.device = compiled, device
        self.slide, self.max_cycles = slide, max_cycles
        self.ids: list[int] = []
        self.setup_counters = self._load()

    def _load(self) -> Counters:
        """Write the image, and run what is run once."""
        setup = self.compiled.setup
        assert isinstance(setup, Program)
        setup.load(self.device)
        self.device.run(setup.commands)
        return self.device.wait(self.max_cycles)

    def _execute(self, run: Run, ids: Sequence[int]) -> Counters:
        self.device.run(self.compiled.commands(run, ids))
        return self.device.wait(self.max_cycles)

    @property
    def position(self) -> int:
        """Positions in the cache."""
        return len(self.ids)

    def restart(self) -> None:
        """Forget all tokens; the weights stay."""
        self.ids = []

    def prefill(self, ids: Sequence[int], *, all_logits: bool = False) -> StepResult:
        """Add tokens, in as few runs as the memories allow.

        Raises
        ------
        ContextError
            When the context does not hold them.
        CompileError
            When a token is outside the vocabulary, or there is none.
        """
        parts = self.parts(ids, all_logits=all_logits)
        return joined([self._run(part, all_logits) for part in parts], all_logits=all_logits)

    def parts(self, ids: Sequence[int], *, all_logits: bool = False) -> list[list[int]]:
        """The tokens of each run of a prefill; a full context has slid.

        Raises
        ------
        ContextError, CompileError
            As :meth:`prefill`.
        """
        self._check(ids)
        ids = self._make_room(list(ids), all_logits)
        size = self.compiled.most_rows
        return [ids[i:i + size] for i in range(0, len(ids), size)]

    def step(self, token: int) -> StepResult:
        """Add one token."""
        return self.prefill([token])

    def _check(self, ids: Sequence[int]) -> None:
        if not ids:
            raise CompileError("there are no tokens; give at least one")
        check_tokens(ids, self.compiled.model.vocabulary, self.compiled.name)

    def _make_room(self, ids: list[int], all_logits: bool) -> list[int]:
        """The tokens to add; with those kept of a full context, which then is empty, before."""
        context = self.compiled.context
        if self.position + len(ids) <= context:
            return ids
        if not self.slide or all_logits or len(ids) > context:
            raise ContextError(
                f"{self.position} tokens and {len(ids)} more do not fit the context of "
                f"{self.compiled.name}, {context} positions; shorten the prompt, generate fewer "
                "tokens, or let the window slide")
        kept = [*self.ids, *ids][-max(len(ids), int(context * KEEP)):]
        self.restart()
        return kept

    def _run(self, ids: Sequence[int], all_logits: bool) -> StepResult:
        run = self.begin(ids, all_logits=all_logits)
        return self.end(run, ids, self._execute(run, ids))

    def begin(self, ids: Sequence[int], *, all_logits: bool = False) -> Run:
        """The program that adds tokens; compiled at the first use of its shape."""
        return self.compiled.run(Shape(len(ids), self.position, all_logits))

    def end(self, run: Run, ids: Sequence[int], counters: Counters) -> StepResult:
        """What a run gave that has ended."""
        result = StepResult(
            token=self._token(run), position=self.position, length=len(ids),
            logits=self._logits(run), logit_scale=self.compiled.model.logit_scale,
            counters=counters, macs=run.program.macs, runs=1, work=run.work)
        self.ids.extend(ids)
        return result

    def _token(self, run: Run) -> int:
        place = run.scratch.index.base + run.shape.length - 1
        return int.from_bytes(self.device.read(Region.ROW, 4 * place, 4), "little")

    def _logits(self, run: Run) -> NDArray[np.int16]:
        compiled = self.compiled
        vocabulary = compiled.model.vocabulary
        beats = ceil_div(vocabulary, compiled.config.lanes)
        size = beats * compiled.config.word_bytes(Region.VEC)
        rows = run.shape.length if run.shape.all_logits else 1
        if run.shape.all_logits:
            data = self.device.read("ext", compiled.external.logits, rows * size)
        else:
            base = run.scratch.logits.base * compiled.config.word_bytes(Region.VEC)
            data = self.device.read(Region.VEC, base, size)
        return from_vector_words(data, compiled.config, rows, vocabulary)


def joined(parts: Sequence[StepResult], *, all_logits: bool = False) -> StepResult:
    """Runs one after the other as one, with the logits of the last, or of all."""
    last = parts[-1]
    return StepResult(
        token=last.token, position=parts[0].position, length=sum(part.length for part in parts),
        logits=np.concatenate([part.logits for part in parts]) if all_logits else last.logits,
        logit_scale=last.logit_scale, counters=sum_counters([part.counters for part in parts]),
        macs=sum(part.macs for part in parts), runs=len(parts),
        work=total_work([part.work for part in parts]))

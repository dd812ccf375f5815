"""``systolith run MODEL --tokens N``: a whole decoder writes text, token by token."""
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from time import perf_counter

import numpy as np

from systolith.hw.config import Config
from systolith.hw.configs import get_config
from systolith.sim.devices import open_machine
from systolith.sim.measure import Measure, total
from systolith.sim.progress import Progress
from systolith.sim.text import cores_and_cells, number, percent, print_facts
from systolith.sw.decoder import (
    CompiledDecoder,
    MeshDecoder,
    Session,
    StepResult,
    compile_decoder,
    open_session,
)
from systolith.sw.decoder.choose import Choice
from systolith.sw.decoder.work import Work, total_work
from systolith.sw.models import Model, ModelError, load_model
from systolith.sw.runtime.functional import FunctionalDevice
from systolith.sw.runtime.sampling import Sampling

#: Tokens after which a model has said what it has to say.
ENDS = ("</s>", "<eos>", "<|im_end|>", "<|endoftext|>")

#: How the report calls what bounds a part.
ENGINES = {"array": "the array", "vector": "the vector unit", "memory": "external memory"}

#: Tokens written when the command line does not say how many.
DEFAULT_TOKENS = 40


#: Which of the mathformers takes a sum, by its sign.
MATHFORMERS = {"+": "add", "-": "sub", "*": "mul", "/": "div"}


def model_of(name: str, prompt: str | None) -> str:
    """The model that ``name`` stands for: ``mathformer`` is the one for the prompt's sign."""
    if name != "mathformer":
        return name
    sign = next((char for char in prompt or "+" if char in MATHFORMERS), None)
    if sign is None:
        raise ModelError(f"the prompt {prompt!r} has none of the signs {' '.join(MATHFORMERS)}, by "
                         "which mathformer chooses its model; name one of "
                         + ", ".join(f"mathformer-{kind}" for kind in MATHFORMERS.values()))
    return f"mathformer-{MATHFORMERS[sign]}"


@dataclass(frozen=True, kw_only=True)
class WritingRequest:
    """What the command line asked for, whatever the texts."""

    model: str
    tokens: int
    config: str
    device: str
    max_cycles: int
    stall: int
    seed: int
    slide: bool
    sampling: Sampling
    memory: str = "ideal"
    without: Sequence[int] = ()


@dataclass(frozen=True, kw_only=True)
class Request(WritingRequest):
    """What the command line asked for."""

    prompt: str | None
    compare: bool = False


@dataclass(frozen=True)
class Completion:
    """The text and what it cost: the prefill of the prompt, then a step a token. ``bit_exact``:
    whether all equals the functional device; None where that was not asked."""

    request: Request
    model: Model
    config: Config
    prompt: str
    ids: tuple[int, ...]
    text: str
    written: tuple[int, ...]
    results: tuple[StepResult, ...]
    choices: tuple[Choice, ...]
    columned: bool
    bit_exact: bool | None
    seconds: dict[str, float]

    @property
    def prefill(self) -> Measure:
        """Cycles and work of the prompt."""
        return self._measure(self.results[:1])

    @property
    def decode(self) -> Measure | None:
        """Cycles and work of the steps; None where there were none."""
        return self._measure(self.results[1:]) if len(self.results) > 1 else None

    @property
    def measure(self) -> Measure:
        """Cycles and work of everything but loading the weights."""
        return self._measure(self.results)

    @property
    def work(self) -> tuple[Work, ...]:
        """What each part of the model needed of the engines, over all runs."""
        return total_work([each.work for each in self.results])

    def _measure(self, results: tuple[StepResult, ...]) -> Measure:
        return total([Measure(self.config, each.macs, each.counters) for each in results])

    def as_json(self) -> dict[str, object]:
        """The report under its stable keys."""
        decode = self.decode
        return {"model": self.model.name, "prompt": self.prompt, "text": self.text,
                "prompt_tokens": len(self.ids), "tokens": list(self.written),
                "config": self.config.name, "device": self.request.device,
                "stall": self.request.stall, "seed": self.request.seed,
                "memory": self.request.memory, "without_cores": sorted(self.request.without),
                "bit_exact": self.bit_exact, **self.measure.as_json(),
                "prefill": self.prefill.as_json(), "decode": decode and decode.as_json(),
                "parts": [part.as_json() for part in self.work],
                "choices": [choice.as_json() for choice in self.choices],
                "columned": self.columned, "seconds": self.seconds}


def complete(request: Request, *, show: Callable[[str], None], progress: Progress) -> Completion:
    """Write text after a prompt; ``show`` gets each piece of it as soon as it is there.

    Raises
    ------
    ConfigError, ModelError, CompileError
        When the request cannot be met; a full context is one of them unless it slides.
    DeviceError, StuckError, ToolchainError
        When the device fails.
    """
    config, model = get_config(request.config), load_model(request.model)
    prompt = model.default_prompt if request.prompt is None else request.prompt
    ids = model.encode(prompt)
    with progress.stage("compile"):
        compiled = compile_decoder(model, config, off=request.without)
    with open_machine(request.device, config, stall=request.stall, seed=request.seed,
                      memory=request.memory, off=request.without, progress=progress) as machine:
        with progress.stage("load weights"):
            session = open_session(compiled, machine, slide=request.slide,
                                   max_cycles=request.max_cycles)
        with progress.stage("prefill"):
            results = [session.prefill(ids)]
        start = perf_counter()
        written, text = _write(request, model, session, results, ids, show)
        decode = perf_counter() - start
    exact = None
    if request.compare:
        with progress.stage("compare"):
            exact = _same(compiled, request, ids, written, results)
    return Completion(request, model, config, prompt, tuple(ids), text, tuple(written),
                      tuple(results), compiled.choices, compiled.model.columned, exact,
                      {**progress.seconds, "decode": decode})


def _same(compiled: CompiledDecoder, request: Request, ids: Sequence[int], written: Sequence[int],
          results: Sequence[StepResult]) -> bool:
    """Whether every logit and token is that of the functional device, of a single core, for the
    same tokens."""
    core = compiled.config.core
    alone = compiled if not isinstance(compiled, MeshDecoder) else CompiledDecoder(
        compiled.name, compiled.model, core, compiled.context)
    session = Session(alone, FunctionalDevice(core), slide=request.slide)
    inputs = [ids, *([token] for token in written)]
    # The last token that was written went into no step.
    expected = [session.prefill(new) for new in inputs[:len(results)]]
    return all(result.token == other.token and np.array_equal(result.logits, other.logits)
               for result, other in zip(results, expected, strict=True))


def _write(request: Request, model: Model, session: Session, results: list[StepResult],
           ids: list[int], show: Callable[[str], None]) -> tuple[list[int], str]:
    """Steps until the model ends or the tokens are written; the tokens and their text."""
    written: list[int] = []
    text, before = "", model.detokenize(ids)
    while len(written) < request.tokens:
        result = results[-1]
        # Greedy tokens come from the accelerator; only sampling uses the logits.
        token = (result.token if request.sampling.greedy
                 else request.sampling.choose(result.scores[-1]))
        if model.decode([token]).strip() in ENDS:
            break
        written.append(token)
        whole = model.detokenize([*ids, *written])[len(before):]
        # A token may end within a character of several bytes: wait for the rest of it.
        whole = whole.rstrip("\ufffd")
        show(whole[len(text):])
        text = whole
        if len(written) < request.tokens:
            results.append(session.step(token))
    return written, text


def print_completion(done: Completion) -> None:
    """What ran and what it cost."""
    config = done.config
    facts = [("Model", f"{done.model.name}, all {done.model.layers} layers; from embedding to "
                       "the choice of the token all tensor operations ran in the accelerator"),
             ("Configuration", cores_and_cells(config, done.request.without)),
             ("Device", done.request.device)]
    if done.bit_exact is not None:
        equal = "yes, as the functional device" + (" with one core" if config.cores > 1 else "")
        facts.append(("Bit exact", equal if done.bit_exact else "NO"))
    for name, measure, count in (("Prefill", done.prefill, len(done.ids)),
                                 ("Decode", done.decode, len(done.results) - 1)):
        if measure is not None:
            facts.append((name, _cost(measure, count)))
    facts += [("Bytes moved", number(done.measure.counters.move_bytes)),
              ("Bound by", _bounds(done.work))]
    facts += [("Form", _form(choice, len(done.choices)))
              for choice in done.choices if choice.taken]
    if done.columned:
        facts.append(("Residual", "each column with a unit of its own, for a few are large"))
    print_facts(facts)


def _form(choice: Choice, tried: int) -> str:
    """The form that a narrow model was quantized in."""
    width = "as it is" if choice.seed is None else f"{choice.copies} times as wide"
    forms = "1 form" if tried == 1 else f"the best of {tried} forms"
    return (f"{width}, {forms}; on the calibration samples the logits are off by "
            f"{percent(choice.error)} of the median margin")


def _bounds(work: Sequence[Work]) -> str:
    """What bounds each part; parts after each other with the same bound together."""
    texts = []
    for bound, group in groupby(work, key=lambda part: part.bound):
        parts = list(group)
        names = parts[0].name + (f" to {parts[-1].name}" if len(parts) > 1 else "")
        cycles = sum(part.least for part in parts)
        texts.append(f"{names} by {ENGINES[bound]}, at least {cycles:,} cycles")
    return "; ".join(texts)


def _cost(measure: Measure, count: int) -> str:
    tokens = f"{count} token{'s' if count != 1 else ''}"
    if measure.cycles is None:
        return f"{tokens}, {measure.macs:,} useful MACs"
    return (f"{tokens} in {number(measure.cycles)} cycles, {number(measure.cycles // count)} each; "
            f"{percent(measure.utilization)} of the array's peak")

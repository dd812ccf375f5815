"""``systolith run MODEL --text FILE`` for a language model: a text on each core, side by side."""
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from systolith.hw.config import Config
from systolith.hw.configs import get_config
from systolith.sim.commands.complete import ENDS, WritingRequest
from systolith.sim.devices import open_machine
from systolith.sim.measure import Measure, total
from systolith.sim.progress import Progress
from systolith.sim.text import cores_and_cells, number, percent, print_facts, print_table
from systolith.sw.decoder import SideBySideSession, StepResult, Together, compile_decoder
from systolith.sw.models import Model, load_model
from systolith.sw.runtime.cluster import Alone, Cluster


@dataclass(frozen=True)
class Answer:
    """A text, what was written after it, and cycles and work of its core."""

    prompt: str
    text: str
    tokens: tuple[int, ...]
    run: int
    measure: Measure


@dataclass
class Answers:
    """All answers, and what the runs cost: of the texts that went on at the same time ``prefill``,
    then ``decode``."""

    request: WritingRequest
    model: Model
    config: Config
    answers: list[Answer] = field(default_factory=list)
    prefill: list[Measure] = field(default_factory=list)
    decode: list[Measure] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def written(self) -> int:
        """Tokens of all answers."""
        return sum(len(answer.tokens) for answer in self.answers)

    @property
    def steps(self) -> int:
        """Tokens that came out of a step; the first of each answer comes out of its prefill."""
        return self.written - sum(bool(answer.tokens) for answer in self.answers)

    @property
    def throughput(self) -> float | None:
        """Tokens a cycle while answers were written; None where nothing counts cycles."""
        cycles = total(self.decode).cycles if self.decode else None
        return self.steps / cycles if cycles else None

    def as_json(self) -> dict[str, object]:
        """The report under its stable keys."""
        return {"model": self.model.name, "config": self.config.name,
                "device": self.request.device, "without_cores": sorted(self.request.without),
                "texts": [{"prompt": each.prompt, "text": each.text, "tokens": list(each.tokens),
                           "run": each.run, **each.measure.as_json()} for each in self.answers],
                "tokens_per_cycle": self.throughput,
                "prefill": total(self.prefill).as_json(),
                "decode": total(self.decode).as_json() if self.decode else None,
                **total([*self.prefill, *self.decode]).as_json(), "seconds": self.seconds}


def answer(request: WritingRequest, prompts: Sequence[str], *, progress: Progress) -> Answers:
    """Go on with each of the prompts.

    Raises
    ------
    ConfigError, ModelError, CompileError
        When the request cannot be met.
    DeviceError, StuckError, ToolchainError
        When the device fails.
    """
    config, model = get_config(request.config), load_model(request.model)
    result = Answers(request, model, config)
    ids = [model.encode(prompt) for prompt in prompts]
    with _session(request, config, model, progress) as session:
        size = len(session.lanes)
        for run, first in enumerate(range(0, len(prompts), size)):
            last = min(first + size, len(prompts))
            with progress.stage(f"texts {first + 1} to {last} of {len(prompts)}"):
                _Run(result, session, prompts[first:last], ids[first:last], run, first).finish()
    result.seconds = dict(progress.seconds)
    return result


@contextmanager
def _session(request: WritingRequest, config: Config, model: Model,
             progress: Progress) -> Iterator[SideBySideSession]:
    with progress.stage("compile"):
        compiled = compile_decoder(model, config.core)
    with open_machine(request.device, config, stall=request.stall, seed=request.seed,
                      memory=request.memory, off=request.without, progress=progress) as machine:
        with progress.stage("load weights"):
            session = SideBySideSession(
                compiled, machine if isinstance(machine, Cluster) else Alone(machine),
                slide=request.slide, max_cycles=request.max_cycles)
        yield session


class _Run:
    """Texts that go on at the same time, until all are finished."""

    def __init__(self, result: Answers, session: SideBySideSession, prompts: Sequence[str],
                 ids: Sequence[Sequence[int]], run: int, first: int):
        self._result, self._session, self._run = result, session, run
        self._prompts, self._ids = prompts, ids
        sampling = result.request.sampling
        # Texts do not share random numbers: an answer is the same on any number of cores.
        self._samplings = [replace(sampling, seed=sampling.seed + first + lane)
                           for lane in range(len(prompts))]
        self._written: list[list[int]] = [[] for _ in prompts]
        self._steps: list[list[StepResult]] = [[] for _ in prompts]

    def finish(self) -> None:
        """Run, and add the answers to the result."""
        session, result = self._session, self._result
        session.restart()
        tokens = self._take(session.prefill(self._ids), result.prefill)
        while any(token is not None for token in tokens):
            tokens = self._take(session.step(tokens), result.decode)
        model, config = result.model, result.config
        for prompt, ids, written, steps in zip(self._prompts, self._ids, self._written, self._steps,
                                               strict=True):
            text = model.detokenize([*ids, *written])[len(model.detokenize(ids)):]
            measure = total([Measure(config.core, each.macs, each.counters) for each in steps])
            result.answers.append(Answer(prompt, text, tuple(written), self._run, measure))

    def _take(self, done: Together, measures: list[Measure]) -> list[int | None]:
        """The next token of each text; None for one that has ended."""
        macs = sum(each.macs for each in done.results if each is not None)
        measures.append(Measure(self._result.config, macs, done.counters))
        return [None if each is None else self._next(lane, each)
                for lane, each in enumerate(done.results)]

    def _next(self, lane: int, result: StepResult) -> int | None:
        self._steps[lane].append(result)
        sampling, written = self._samplings[lane], self._written[lane]
        token = result.token if sampling.greedy else sampling.choose(result.scores[-1])
        if self._result.model.decode([token]).strip() in ENDS:
            return None
        written.append(token)
        return token if len(written) < self._result.request.tokens else None


def print_answers(result: Answers) -> None:
    """Each text with its answer, and what the machine gave in all."""
    config, most = result.config, max(answer.run for answer in result.answers) + 1
    facts = [("Model", f"{result.model.name}, all {result.model.layers} layers, a text on each "
                       "core"),
             ("Configuration", cores_and_cells(config, result.request.without)),
             ("Device", result.request.device),
             ("Texts", f"{len(result.answers)} in {most} run{'s' if most > 1 else ''}, "
                       f"{result.written} tokens written")]
    if result.throughput is not None:
        decode = total(result.decode)
        facts.append(("Decode", f"{result.steps} tokens in {number(decode.cycles)} cycles, "
                                f"{1000 * result.throughput:.3f} per 1,000 cycles of all cores "
                                f"together; {percent(decode.utilization)} of the arrays' peak"))
    print_facts(facts)
    print_table(("text", "answer", "run", "tokens", "cycles of its core"), (
        (_short(each.prompt), _short(each.text), number(each.run + 1), number(len(each.tokens)),
         number(each.measure.cycles)) for each in result.answers))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 40 else line[:37] + "..."

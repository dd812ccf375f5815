"""The cycle model beside the RTL: the same programs on both.

Time depends on no data, so the RTL runs them on whatever its memories hold.
"""
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cache, partial

from systolith.hw.config import Config
from systolith.hw.configs import CONFIGS
from systolith.hw.isa import ENGINES
from systolith.sim.programs import attention_program, prefill_programs, step_program
from systolith.sim.progress import Progress
from systolith.sim.rtl import RtlDevice
from systolith.sw.compiler import compile_product
from systolith.sw.decoder import compile_decoder
from systolith.sw.encoder import compile_encoder
from systolith.sw.encoder.session import quantized_encoder
from systolith.sw.estimate import ExternalMemory, estimate
from systolith.sw.models import load_model
from systolith.sw.models.encoders import load_encoder
from systolith.sw.runtime.device import Counters, Queues
from systolith.sw.runtime.program import Program

#: A piece of work: its programs on a configuration, that run one after the other.
Case = Callable[[Config], Sequence[Program]]


def _product(m: int, k: int, n: int, config: Config) -> Sequence[Program]:
    return [compile_product(config, m=m, k=k, n=n).program]


def _attention(length: int, config: Config) -> Sequence[Program]:
    return [attention_program(load_model("glassllm"), 0, length, config)]


@cache
def _decoder(name: str, config: Config):
    return compile_decoder(load_model(name), config)


def _prefill(name: str, length: int, config: Config) -> Sequence[Program]:
    return list(prefill_programs(_decoder(name, config), length))


def _step(name: str, context: int, config: Config) -> Sequence[Program]:
    return [step_program(_decoder(name, config), context)]


def _setup(name: str, config: Config) -> Sequence[Program]:
    return [_decoder(name, config).setup]


@cache
def _minilm():
    return quantized_encoder(load_encoder("minilm"))


def _text(length: int, layers: int | None, config: Config) -> Sequence[Program]:
    model = _minilm()
    part = replace(model, layers=model.layers[:layers]) if layers else model
    return [compile_encoder(part, config, length=length, name="minilm").program]


#: Lengths of attention.
LENGTHS = (16, 33, 64, 128)

#: By name.
CASES: dict[str, Case] = {
    **{f"product-{m}x{k}x{n}": partial(_product, m, k, n) for m, k, n in (
        (1, 576, 1536), (128, 384, 384), (1, 384, 384), (3, 3, 3), (65, 257, 129), (127, 31, 33))},
    **{f"attention-{length}": partial(_attention, length) for length in LENGTHS},
    "glassllm-setup": partial(_setup, "glassllm"),
    "glassllm-prefill-100": partial(_prefill, "glassllm", 100),
    "glassllm-step-100": partial(_step, "glassllm", 100),
    "mathformer-add-prefill-6": partial(_prefill, "mathformer-add", 6),
    "mathformer-add-step-6": partial(_step, "mathformer-add", 6),
    "minilm-layer-128": partial(_text, 128, 1),
    "minilm-20": partial(_text, 20, None),
}

#: What fits the small configurations, too.
SMALL = ("product-3x3x3", "product-127x31x33", *(f"attention-{length}" for length in LENGTHS),
         "mathformer-add-prefill-6", "mathformer-add-step-6")


@dataclass(frozen=True)
class Row:
    """One case on one configuration: the counters as the model and the RTL have them."""

    name: str
    config: str
    latency: int
    model: Counters
    rtl: Counters

    @property
    def difference(self) -> float:
        """How much longer the model's run is, as a part of the RTL's."""
        return self.model.cycles / self.rtl.cycles - 1


def compare(names: Sequence[str], config: Config, *, latency: int = 8,
            progress: Progress) -> Iterator[Row]:
    """Run cases (keys of :data:`CASES`) on both.

    Parameters
    ----------
    latency : int
        Of external memory.
    """
    external = ExternalMemory(latency=latency)
    with RtlDevice(config, external=external, progress=progress) as device:
        for name in names:
            with progress.stage(f"compile {name}"):
                programs = CASES[name](config)
            with progress.stage(f"compare {name}"):
                for number, program in enumerate(programs):
                    part = f" ({number + 1})" if len(programs) > 1 else ""
                    yield compare_streams(name + part, program.commands, device)


def compare_streams(name: str, streams: Queues, device: RtlDevice) -> Row:
    """One run of both."""
    result = estimate(device.config, streams, device.external)
    device.run(streams)
    return Row(name, device.config.name, device.external.latency, result.counters, device.wait())


#: Heads of :func:`cells`.
HEADS = ("work", "configuration", "latency", "cycle model", "RTL", "difference",
         "largest difference of a counter")


def cells(row: Row) -> tuple[str, ...]:
    """A row as text."""
    worst = max(abs(model - rtl) for engine in ENGINES for model, rtl in zip(
        astuple(row.model.engines[engine]), astuple(row.rtl.engines[engine]), strict=True))
    return (row.name, row.config, str(row.latency), f"{row.model.cycles:,}",
            f"{row.rtl.cycles:,}", f"{100 * row.difference:+.2f} %", f"{worst:,}")


def table(progress: Progress) -> Iterator[tuple[str, ...]]:
    """Rows for ``docs/results.md``: all cases on `sim16`, small ones on the others and with a slow
    external memory."""
    for name, config in CONFIGS.items():
        if config.compact:
            continue
        chosen = list(CASES) if name == "sim16" else SMALL
        for row in compare(chosen, config, progress=progress):
            yield cells(row)
    for row in compare(SMALL, CONFIGS["sim16"], latency=100, progress=progress):
        yield cells(row)

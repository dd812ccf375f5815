"""Speed-up over cores on the RTL: the same work on more cores, and more work on more cores."""
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from systolith.hw.config import Config
from systolith.hw.configs import get_config
from systolith.sim.benchmarks.models import first_layers, tokens
from systolith.sim.devices import open_machine
from systolith.sim.progress import Progress
from systolith.sw.compiler.attention_alone import compile_attention_alone
from systolith.sw.compiler.attention_mesh import compile_attention_mesh
from systolith.sw.decoder import SideBySideSession, compile_decoder
from systolith.sw.decoder.mesh import open_session
from systolith.sw.decoder.share import MOST_SHARES
from systolith.sw.encoder import compile_encoder, compile_encoder_mesh, quantized_encoder
from systolith.sw.models import load_model
from systolith.sw.models.bert import Encoder
from systolith.sw.models.encoders import load_encoder
from systolith.sw.reference.decoder import Cache, decode
from systolith.sw.reference.encoder import QuantizedEncoder
from systolith.sw.runtime.cluster import Alone, Cluster
from systolith.sw.runtime.device import Device

#: Rows of the attention and tokens of the layer; columns of the attention's heads, heads, and heads
#: a core where the work grows.
LENGTH, HEAD_DIM, HEADS, HEADS_A_CORE = 128, 32, 8, 2
#: Tokens before the one that the decoder decodes.
CONTEXT = 100

#: Runs a piece of work; cycles, useful multiply-accumulates, and whether it was bit exact.
Measure = Callable[[Device | Cluster], tuple[int, int, bool]]


@dataclass(frozen=True)
class Work:
    """A piece of work: its ``amount`` on so many cores, or None where it cannot be shared out."""

    name: str
    measure: Measure
    amount: Callable[[int], int | None]


@dataclass(frozen=True)
class Point:
    """Work on a number of cores. Where the work grows with the cores, ``speed_up`` is throughput:
    no single piece of it gets faster.

    Parameters
    ----------
    work : str
    config : str
        Name of the configuration.
    cores, cycles : int
    speed_up : float
        Work a cycle, over that of one core.
    percent_of_peak : float
        Useful multiply-accumulates over what all arrays could do in these cycles.
    """

    work: str
    config: str
    cores: int
    cycles: int
    speed_up: float
    percent_of_peak: float


def _attention(heads_of: Callable[[int], int], machine: Device | Cluster) -> tuple[int, int, bool]:
    """Attention of resident operands; the heads are shared out."""
    config = machine.config
    sizes = {"length": LENGTH, "heads": heads_of(config.cores), "head_dim": HEAD_DIM}
    if isinstance(machine, Cluster):
        shared = compile_attention_mesh(config, **sizes)
        results, macs = shared.run(machine), shared.program.macs
    else:
        alone = compile_attention_alone(config, **sizes)
        results, macs = [alone.run(machine)], alone.macs
    return (max(each.counters.cycles for each in results), macs,
            all(each.bit_exact for each in results))


def _decode(machine: Device | Cluster) -> tuple[int, int, bool]:
    """A token of glassllm after :data:`CONTEXT` others, all weights in the cores."""
    model = load_model("glassllm")
    session = open_session(compile_decoder(model, machine.config), machine)
    ids = tokens(model, CONTEXT + 1)
    session.prefill(ids[:CONTEXT])
    result = session.prefill(ids[CONTEXT:])
    expected = decode(ids, session.compiled.model, Cache())
    return (result.counters.cycles, result.macs,
            np.array_equal(result.logits[-1], expected.logits[-1]))


@cache
def _layer() -> tuple[Encoder, QuantizedEncoder]:
    """MiniLM's first layer."""
    encoder = first_layers(load_encoder("minilm"), 1)
    return encoder, quantized_encoder(encoder)


def _embed(machine: Device | Cluster) -> tuple[int, int, bool]:
    """A text of :data:`LENGTH` tokens through MiniLM's first layer, and all around it. Weights are
    in the cores where they fit, and come as they are used in a core alone."""
    encoder, model = _layer()
    ids = encoder.tokenizer.encode(" ".join(encoder.samples)).ids[:LENGTH]
    if isinstance(machine, Cluster):
        shared = compile_encoder_mesh(model, machine.config, length=LENGTH, name=encoder.name)
        shared.load(machine)
        result, macs = shared.run(machine, ids), shared.macs
    else:
        alone = compile_encoder(model, machine.config, length=LENGTH, name=encoder.name)
        alone.load(machine)
        result, macs = alone.run(machine, ids), alone.macs
    return result.counters.cycles, macs, result.bit_exact


def _decode_texts(machine: Device | Cluster) -> tuple[int, int, bool]:
    """A token of glassllm after :data:`CONTEXT` others on each core, each of another text."""
    model = load_model("glassllm")
    session = SideBySideSession(compile_decoder(model, machine.config.core),
                                machine if isinstance(machine, Cluster) else Alone(machine))
    ids = tokens(model, CONTEXT + 1)
    texts = [ids[lane:] + ids[:lane] for lane in range(len(session.lanes))]
    session.prefill([text[:CONTEXT] for text in texts])
    done = session.step([text[CONTEXT] for text in texts])
    compiled = session.lanes[0].compiled.model
    exact = all(result is not None and np.array_equal(
        result.logits[-1], decode(text, compiled, Cache()).logits[-1])
        for text, result in zip(texts, done.results, strict=True))
    return (done.counters.cycles, sum(result.macs for result in done.results if result), exact)


def _strong(cores: int) -> int | None:
    return HEADS if HEADS % cores == 0 else None


def _weak(cores: int) -> int:
    return HEADS_A_CORE * cores


WORKS = (
    Work(f"attention, {HEADS} heads", partial(_attention, lambda cores: HEADS), _strong),
    Work(f"attention, {HEADS_A_CORE} heads a core", partial(_attention, _weak), _weak),
    Work("a layer of MiniLM", _embed, lambda cores: 1),
    Work("glassllm, a token", _decode, lambda cores: 1 if cores <= MOST_SHARES else None),
    Work("glassllm, a token of a text on each core", _decode_texts, lambda cores: cores),
)


def sizes(width: int, height: int) -> Iterator[tuple[int, int]]:
    """Meshes with 1, 2, 4, ... cores that fit one of ``width`` x ``height``."""
    size = 1, 1
    while size[0] <= width and size[1] <= height:
        yield size
        wider = (size[0] == size[1] and 2 * size[0] <= width) or 2 * size[1] > height
        size = (2 * size[0], size[1]) if wider else (size[0], 2 * size[1])


def meshes(core: str, width: int, height: int) -> Iterator[Config]:
    """The configurations of :func:`sizes`, with cores of that configuration."""
    for columns, rows in sizes(width, height):
        yield get_config(f"{core}@{columns}x{rows}" if columns * rows > 1 else core)


def speed_up(core: str, width: int, height: int, *, progress: Progress) -> list[Point]:
    """Measure on one core, and on more and more of them.

    Parameters
    ----------
    core : str
        Name of the configuration of a core.
    width, height : int
        The largest mesh.

    Raises
    ------
    ConfigError, CompileError
        When there is no such configuration, or it is too small for the work.
    RuntimeError
        When a result is not that of the reference: the RTL is broken.
    """
    found: dict[str, list[Point]] = {work.name: [] for work in WORKS}
    first: dict[str, float] = {}
    for config in meshes(core, width, height):
        with open_machine("rtl", config, progress=progress) as machine:
            for work in WORKS:
                amount = work.amount(config.cores)
                if amount is None:
                    continue
                with progress.stage(f"{work.name} on {config.cores}"):
                    found[work.name].append(_point(work, amount, machine, config, first))
    return [point for points in found.values() for point in points]


def _point(work: Work, amount: int, machine: Device | Cluster, config: Config,
           first: dict[str, float]) -> Point:
    cycles, macs, exact = work.measure(machine)
    if not exact:
        raise RuntimeError(f"{work.name} on {config.name} is not bit exact")
    rate = amount / cycles
    peak = config.rows * config.cols * config.cores
    return Point(work.name, config.name, config.cores, cycles,
                 rate / first.setdefault(work.name, rate), 100 * macs / cycles / peak)

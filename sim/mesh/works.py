"""Work that is shared out to the cores of a chip, whose speed-up is measured."""
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from systolith.hw.isa import Engine
from systolith.sim.benchmarks.models import first_layers, tokens
from systolith.sw.compiler.attention_alone import compile_attention_alone
from systolith.sw.compiler.attention_mesh import compile_attention_mesh
from systolith.sw.decoder import SideBySideSession, compile_decoder
from systolith.sw.decoder.compiled import CompiledDecoder
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


class Measured(NamedTuple):
    """A piece of work that ran: cycles, useful multiply-accumulates, whether it was bit exact, and
    whether weights came out of external memory meanwhile."""

    cycles: int
    macs: int
    exact: bool
    streamed: bool


@dataclass(frozen=True)
class Work:
    """A piece of work: its ``amount`` on so many cores, or None where it cannot be shared out."""

    name: str
    measure: Callable[[Device | Cluster], Measured]
    amount: Callable[[int], int | None]


def _attention(heads_of: Callable[[int], int], machine: Device | Cluster) -> Measured:
    """Attention of resident operands; the heads are shared out."""
    config = machine.config
    sizes = {"length": LENGTH, "heads": heads_of(config.cores), "head_dim": HEAD_DIM}
    if isinstance(machine, Cluster):
        shared = compile_attention_mesh(config, **sizes)
        results, macs = shared.run(machine), shared.program.macs
    else:
        alone = compile_attention_alone(config, **sizes)
        results, macs = [alone.run(machine)], alone.macs
    return Measured(max(each.counters.cycles for each in results), macs,
                    all(each.bit_exact for each in results), streamed=False)


def _decode(machine: Device | Cluster) -> Measured:
    """A token of glassllm after :data:`CONTEXT` others."""
    model = load_model("glassllm")
    session = open_session(compile_decoder(model, machine.config), machine)
    ids = tokens(model, CONTEXT + 1)
    session.prefill(ids[:CONTEXT])
    result = session.prefill(ids[CONTEXT:])
    expected = decode(ids, session.compiled.model, Cache())
    return Measured(result.counters.cycles, result.macs,
                    np.array_equal(result.logits[-1], expected.logits[-1]),
                    _streamed(session.compiled))


def _streamed(compiled: CompiledDecoder) -> bool:
    return compiled.cores[0].residents.streamed


@cache
def _layer() -> tuple[Encoder, QuantizedEncoder]:
    """MiniLM's first layer."""
    encoder = first_layers(load_encoder("minilm"), 1)
    return encoder, quantized_encoder(encoder)


def _embed(machine: Device | Cluster) -> Measured:
    """A text of :data:`LENGTH` tokens through MiniLM's first layer, and all around it. Weights are
    in the cores where they fit, and come as they are used in a core alone."""
    encoder, model = _layer()
    ids = encoder.tokenizer.encode(" ".join(encoder.samples)).ids[:LENGTH]
    if isinstance(machine, Cluster):
        shared = compile_encoder_mesh(model, machine.config, length=LENGTH, name=encoder.name)
        shared.load(machine)
        result, macs = shared.run(machine, ids), shared.macs
        streamed = not any(core.get(Engine.MOVE) for core in shared.setup.commands)
    else:
        alone = compile_encoder(model, machine.config, length=LENGTH, name=encoder.name)
        alone.load(machine)
        result, macs, streamed = alone.run(machine, ids), alone.macs, True
    return Measured(result.counters.cycles, macs, result.bit_exact, streamed)


def _decode_texts(machine: Device | Cluster) -> Measured:
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
    return Measured(done.counters.cycles, sum(each.macs for each in done.results if each), exact,
                    _streamed(session.lanes[0].compiled))


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

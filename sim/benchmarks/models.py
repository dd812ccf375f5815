"""Layers and whole models."""
import dataclasses
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, cycle, islice
from typing import TypeVar

import numpy as np

from systolith.sim.attention import prepare_layer
from systolith.sim.benchmarks.synthetic import random_decoder
from systolith.sim.benchmarks.work import Benchmark, Measured, Work
from systolith.sw.decoder import Session, compile_decoder
from systolith.sw.encoder import compile_encoder, quantized_encoder
from systolith.sw.models import Model, load_model
from systolith.sw.models.bert import Encoder
from systolith.sw.models.encoders import load_encoder
from systolith.sw.reference.decoder import Cache, decode
from systolith.sw.runtime.device import Device

Loaded = TypeVar("Loaded", Model, Encoder)


def tokens(model: Model, length: int) -> list[int]:
    """So many tokens: the model's own prompts one after the other, over and over."""
    ids = chain.from_iterable(model.encode(prompt) for prompt in model.prompts)
    return list(islice(cycle(ids), length))


def first_layers(model: Loaded, layers: int | None) -> Loaded:
    """A loaded model with only so many layers; all for None."""
    weights = dataclasses.replace(model.weights, layers=model.weights.layers[:layers])
    return dataclasses.replace(model, weights=weights)


def _attention_layer(length: int, device: Device) -> Measured:
    """Projections, attention, output and residual of glassllm's first layer, with all moves."""
    model = load_model("glassllm")
    layer = prepare_layer(model, 0, tokens(model, length), device.config)

    def run() -> Work:
        result = layer.compiled.run(device, layer.x, layer.h)
        return Work(layer.compiled.macs, result.counters, result.bit_exact, model.head_dim)
    return run


def _glassllm(layers: int | None) -> Model:
    return first_layers(load_model("glassllm"), layers)


def _smollm2_layer() -> Model:
    """A layer of SmolLM2's sizes, random weights, and a small vocabulary."""
    return random_decoder("smollm2 layer", width=576, heads=9, kv_heads=3, hidden=1536,
                          positions=128)


def _decoder(load: Callable[[], Model], before: int, length: int, device: Device) -> Measured:
    """A decoder on ``length`` tokens after ``before``."""
    model = load()
    session = Session(compile_decoder(model, device.config), device)
    ids = tokens(model, before + length)
    if before:
        session.prefill(ids[:before])
    expected = decode(ids, session.compiled.model, Cache())

    def run() -> Work:
        result = session.prefill(ids[before:])
        exact = (np.array_equal(result.logits[-1], expected.logits[-1])
                 and result.token == int(expected.tokens[-1]))
        return Work(result.macs, result.counters, exact, model.head_dim)
    return run


def _encoder(layers: int | None, length: int, device: Device) -> Measured:
    """MiniLM, or its first layers, from tokens to an embedding; weights come as they are used."""
    encoder = first_layers(load_encoder("minilm"), layers)
    compiled = compile_encoder(quantized_encoder(encoder), device.config, length=length,
                               name=encoder.name)
    ids = encoder.tokenizer.encode(" ".join(encoder.samples)).ids[:length]

    def run() -> Work:
        compiled.load(device)
        result = compiled.run(device, ids)
        return Work(compiled.macs, result.counters, result.bit_exact)
    return run


def models() -> Iterator[Benchmark]:
    """Of glassllm all weights stay in the core, those of MiniLM come, those of SmolLM2's layer
    come or, where weight memory is four times as large, stay."""
    glassllm = partial(_glassllm, None)
    for length in (16, 64, 128):
        yield Benchmark(f"layer-glassllm-attention-{length}", partial(_attention_layer, length))
    yield Benchmark("layer-glassllm-128", partial(_decoder, partial(_glassllm, 1), 0, 128))
    yield Benchmark("layer-smollm2-prefill-100", partial(_decoder, _smollm2_layer, 0, 100))
    yield Benchmark("layer-smollm2-decode-100", partial(_decoder, _smollm2_layer, 100, 1))
    yield Benchmark("layer-smollm2-decode-100-resident",
                    partial(_decoder, _smollm2_layer, 100, 1), config="deep16")
    yield Benchmark("layer-minilm-128", partial(_encoder, 1, 128))
    yield Benchmark("model-glassllm-prefill-100", partial(_decoder, glassllm, 0, 100))
    yield Benchmark("model-glassllm-decode-100", partial(_decoder, glassllm, 100, 1))
    yield Benchmark("model-minilm-128", partial(_encoder, None, 128), slow=True)

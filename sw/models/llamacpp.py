"""Loader of GGUF files of the Llama architecture, as llama.cpp writes them.

The file holds everything: sizes, weights (quantized by blocks; they are read as the numbers these
stand for), and a byte level tokenizer.
"""
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from systolith.sw.models.byte_bpe import byte_level_tokenizer
from systolith.sw.models.checkpoint import Checkpoint, check_positive, field, unreadable
from systolith.sw.models.model import Model
from systolith.sw.models.rotary import rotary_angles
from systolith.sw.reference.weights import (
    NEIGHBOURS,
    AttentionWeights,
    Floats,
    LayerWeights,
    LlamaWeights,
    ModelError,
)

#: Names of sizes in the file.
_WIDTH, _LAYERS, _HIDDEN, _LENGTH, _HEADS, _KV_HEADS = (
    "llama.embedding_length", "llama.block_count", "llama.feed_forward_length",
    "llama.context_length", "llama.attention.head_count", "llama.attention.head_count_kv")
_EPSILON, _BASE = "llama.attention.layer_norm_rms_epsilon", "llama.rope.freq_base"


def check_gguf() -> None:
    """Raise ModelError when the package that reads these files is not installed: before a file is
    fetched."""
    if find_spec("gguf") is None:
        raise ModelError("package gguf is not installed; run: pip install 'systolith[smollm2]'")


def load_gguf(path: Path, name: str, prompts: tuple[str, ...]) -> Model:
    """A model out of a ``.gguf`` file, in float32.

    Raises
    ------
    ModelError
        When the package ``gguf`` or ``tokenizers`` is not installed, or the file cannot be read, is
        of another architecture, or a part of it is missing or has another shape.
    """
    config, checkpoint = _read(path)
    if field(config, "general.architecture", path) != "llama":
        raise ModelError(f"{path} has architecture {config['general.architecture']!r}; only "
                         "'llama' can be read")
    check_positive(config, path, real=(_EPSILON, _BASE), whole=(
        _WIDTH, _LAYERS, _HIDDEN, _LENGTH, _HEADS, _KV_HEADS))
    tokenizer = byte_level_tokenizer(config, path)
    return Model(
        name=name, weights=_weights(checkpoint, config, tokenizer.get_vocab_size()),
        max_length=config[_LENGTH], prompts=prompts, unknown=lambda text: None,
        tokenize=lambda text: tokenizer.encode(text).ids,
        detokenize=lambda ids: tokenizer.decode(list(ids), skip_special_tokens=False))


def _read(path: Path) -> tuple[dict[str, Any], Checkpoint]:
    """What the file says of the model, and its tensors in float32."""
    check_gguf()
    from gguf import GGUFReader
    from gguf.quants import dequantize

    try:
        reader = GGUFReader(path)
        config = {name: entry.contents() for name, entry in reader.fields.items()}
        tensors = {tensor.name: dequantize(tensor.data, tensor.tensor_type)
                   for tensor in reader.tensors}
    except (OSError, ValueError, KeyError, IndexError, NotImplementedError) as error:
        raise unreadable(path, error) from None
    return config, Checkpoint(path, tensors, np.float32)


def _weights(checkpoint: Checkpoint, config: Mapping[str, Any], vocabulary: int) -> LlamaWeights:
    d = config[_WIDTH]
    embedding = checkpoint.tensor("token_embd.weight", vocabulary, d)
    head = (checkpoint.tensor("output.weight", vocabulary, d)
            if checkpoint.has("output.weight") else embedding)
    return LlamaWeights(
        embedding=embedding, head=head.T, norm=checkpoint.tensor("output_norm.weight", d),
        layers=tuple(_layer(checkpoint, config, i) for i in range(config[_LAYERS])),
        epsilon=config[_EPSILON])


def _layer(checkpoint: Checkpoint, config: Mapping[str, Any], index: int) -> LayerWeights:
    d, f, prefix = config[_WIDTH], config[_HIDDEN], f"blk.{index}."
    return LayerWeights(
        norm1=checkpoint.tensor(prefix + "attn_norm.weight", d),
        attention=_attention(checkpoint, config, prefix + "attn_"),
        norm2=checkpoint.tensor(prefix + "ffn_norm.weight", d),
        gate=checkpoint.tensor(prefix + "ffn_gate.weight", f, d).T,
        up=checkpoint.tensor(prefix + "ffn_up.weight", f, d).T,
        down=checkpoint.tensor(prefix + "ffn_down.weight", d, f).T)


def _attention(checkpoint: Checkpoint, config: Mapping[str, Any], prefix: str) -> AttentionWeights:
    """llama.cpp has permuted the queries' and keys' columns to pairs of neighbours."""
    d, heads, kv = config[_WIDTH], config[_HEADS], config[_KV_HEADS]
    hd = config.get("llama.attention.key_length", d // heads)
    cos, sin = (angles.astype(np.float32)
                for angles in rotary_angles(config[_LENGTH], hd, config[_BASE]))

    def weight(name: str, rows: int, columns: int) -> Floats:
        """A weight as (in, out); the file has (out, in)."""
        return checkpoint.tensor(f"{prefix}{name}.weight", columns, rows).T

    return AttentionWeights(
        wq=weight("q", d, heads * hd), wk=weight("k", d, kv * hd), wv=weight("v", d, kv * hd),
        wo=weight("output", heads * hd, d), heads=heads, kv_heads=kv, head_dim=hd,
        cos=cos, sin=sin, pairs=NEIGHBOURS)

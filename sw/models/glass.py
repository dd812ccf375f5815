"""Loader of glassllm checkpoints (``en.npz`` with ``en.tokenizer.json`` beside it)."""
import unicodedata
from pathlib import Path
from typing import Any

from systolith.sw.models.checkpoint import Checkpoint, check_positive, read_npz
from systolith.sw.models.model import Model
from systolith.sw.models.rotary import rotary_angles
from systolith.sw.reference.weights import (
    NEIGHBOURS,
    AttentionWeights,
    LayerWeights,
    LlamaWeights,
    ModelError,
)


def load_glass(path: Path, name: str, prompts: tuple[str, ...]) -> Model:
    """A glassllm model out of its ``.npz`` file."""
    checkpoint, config = read_npz(path)
    check_positive(config, path, real=("eps", "rope_base"), whole=(
        "vocab_size", "d_model", "n_layers", "n_heads", "n_kv_heads", "max_len"))
    size = {key: config[key] for key in ("vocab_size", "d_model", "n_layers", "max_len", "eps")}
    head = checkpoint.tensor("E", size["vocab_size"], size["d_model"])
    weights = LlamaWeights(
        embedding=head, head=head.T, norm=checkpoint.tensor("norm_f.gamma", size["d_model"]),
        layers=tuple(_layer(checkpoint, config, i) for i in range(size["n_layers"])),
        epsilon=size["eps"])
    tokenizer = _tokenizer(path.with_name(f"{path.stem}.tokenizer.json"), size["vocab_size"])
    return Model(name=name, weights=weights, max_length=size["max_len"], prompts=prompts,
                 tokenize=tokenizer.encode, detokenize=tokenizer.decode,
                 unknown=lambda text: _unknown(text, tokenizer))


def _layer(checkpoint: Checkpoint, config: dict[str, Any], index: int) -> LayerWeights:
    d, prefix = config["d_model"], f"blocks.{index}."
    # The author's SwiGLU is this wide.
    hidden = int(8 * d / 3)
    return LayerWeights(
        norm1=checkpoint.tensor(prefix + "norm1.gamma", d),
        attention=_attention(checkpoint, config, prefix + "attn."),
        norm2=checkpoint.tensor(prefix + "norm2.gamma", d),
        gate=checkpoint.tensor(prefix + "ffn.W1", d, hidden),
        up=checkpoint.tensor(prefix + "ffn.W3", d, hidden),
        down=checkpoint.tensor(prefix + "ffn.W2", hidden, d))


def _attention(checkpoint: Checkpoint, config: dict[str, Any], prefix: str) -> AttentionWeights:
    d, heads, kv_heads = (config[key] for key in ("d_model", "n_heads", "n_kv_heads"))
    head_dim = d // heads
    cos, sin = rotary_angles(config["max_len"], head_dim, config["rope_base"])
    return AttentionWeights(
        wq=checkpoint.tensor(prefix + "W_Q", d, heads * head_dim),
        wk=checkpoint.tensor(prefix + "W_K", d, kv_heads * head_dim),
        wv=checkpoint.tensor(prefix + "W_V", d, kv_heads * head_dim),
        wo=checkpoint.tensor(prefix + "W_O", heads * head_dim, d),
        heads=heads, kv_heads=kv_heads, head_dim=head_dim, cos=cos, sin=sin, pairs=NEIGHBOURS)


def _tokenizer(path: Path, size: int):
    from glassllm import Tokenizer

    try:
        tokenizer = Tokenizer.load(path)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"the tokenizer {path} cannot be read: {error}; "
                         "put the model's tokenizer file beside its weights") from None
    if tokenizer.vocab_size != size:
        raise ModelError(f"the tokenizer {path} has {tokenizer.vocab_size} tokens, "
                         f"but the model has {size}")
    return tokenizer


def _unknown(text: str, tokenizer) -> str | None:
    """The first character that is no token; the tokenizer itself puts a space as U+2581."""
    normal = unicodedata.normalize("NFC", text)
    return next((c for c in normal if c.replace(" ", "▁") not in tokenizer.token_to_id), None)

"""Loader of Hugging Face folders of the Llama architecture whose tokens are characters."""
from pathlib import Path
from typing import Any

from systolith.sw.models.checkpoint import Checkpoint, check_positive, read_json, read_safetensors
from systolith.sw.models.model import Model
from systolith.sw.models.rotary import rotary_angles
from systolith.sw.reference.weights import (
    HALVES,
    AttentionWeights,
    Floats,
    LayerWeights,
    LlamaWeights,
    ModelError,
)

#: Activation, and sizes, without which the model cannot be built.
_SIZES = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
          "num_key_value_heads", "intermediate_size", "max_position_embeddings")


def load_huggingface(folder: Path, name: str, prompts: tuple[str, ...]) -> Model:
    """A model out of a folder with config.json, model.safetensors and vocab.json."""
    config = read_json(folder / "config.json")
    if config.get("model_type") != "llama":
        raise ModelError(f"{folder / 'config.json'} has model_type {config.get('model_type')!r}; "
                         "only 'llama' can be read")
    whole = (*_SIZES, "head_dim") if config.get("head_dim") is not None else _SIZES
    check_positive(config, folder / "config.json", whole=whole, real=("rms_norm_eps",))
    checkpoint = read_safetensors(folder / "model.safetensors")
    vocabulary = read_json(folder / "vocab.json")
    texts = {token: text for text, token in vocabulary.items()}
    return Model(
        name=name, weights=_weights(checkpoint, config), prompts=prompts,
        max_length=config["max_position_embeddings"],
        tokenize=lambda text: [vocabulary[character] for character in text],
        unknown=lambda text: next((c for c in text if c not in vocabulary), None),
        detokenize=lambda ids: "".join(texts[token] for token in ids))


def _weights(checkpoint: Checkpoint, config: dict[str, Any]) -> LlamaWeights:
    d, size = config["hidden_size"], config["vocab_size"]
    embedding = checkpoint.tensor("model.embed_tokens.weight", size, d)
    tied = config.get("tie_word_embeddings", False)
    head = embedding if tied else checkpoint.tensor("lm_head.weight", size, d)
    return LlamaWeights(
        embedding=embedding, head=head.T, norm=checkpoint.tensor("model.norm.weight", d),
        layers=tuple(_layer(checkpoint, config, i) for i in range(config["num_hidden_layers"])),
        epsilon=config["rms_norm_eps"])


def _layer(checkpoint: Checkpoint, config: dict[str, Any], index: int) -> LayerWeights:
    d, f, prefix = config["hidden_size"], config["intermediate_size"], f"model.layers.{index}."
    return LayerWeights(
        norm1=checkpoint.tensor(prefix + "input_layernorm.weight", d),
        attention=_attention(checkpoint, config, prefix + "self_attn."),
        norm2=checkpoint.tensor(prefix + "post_attention_layernorm.weight", d),
        gate=checkpoint.tensor(prefix + "mlp.gate_proj.weight", f, d).T,
        up=checkpoint.tensor(prefix + "mlp.up_proj.weight", f, d).T,
        down=checkpoint.tensor(prefix + "mlp.down_proj.weight", d, f).T)


def _attention(checkpoint: Checkpoint, config: dict[str, Any], prefix: str) -> AttentionWeights:
    d, heads, kv = (config[key] for key in ("hidden_size", "num_attention_heads",
                                            "num_key_value_heads"))
    hd = config.get("head_dim") or d // heads
    rope = config.get("rope_parameters") or {"rope_theta": config.get("rope_theta", 10000.0)}
    cos, sin = rotary_angles(config["max_position_embeddings"], hd, rope["rope_theta"])

    def weight(name: str, rows: int, columns: int) -> Floats:
        """A weight as (in, out); the file has (out, in)."""
        return checkpoint.tensor(f"{prefix}{name}_proj.weight", columns, rows).T

    def bias(name: str, columns: int) -> Floats | None:
        full = f"{prefix}{name}_proj.bias"
        return checkpoint.tensor(full, columns) if checkpoint.has(full) else None

    return AttentionWeights(
        wq=weight("q", d, heads * hd), wk=weight("k", d, kv * hd), wv=weight("v", d, kv * hd),
        wo=weight("o", heads * hd, d), bq=bias("q", heads * hd), bk=bias("k", kv * hd),
        bv=bias("v", kv * hd), bo=bias("o", d), heads=heads, kv_heads=kv, head_dim=hd,
        cos=cos, sin=sin, pairs=HALVES)

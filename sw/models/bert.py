"""Loader of BERT sentence encoders: model.safetensors, config.json and tokenizer.json."""
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from systolith.sw.models.checkpoint import Checkpoint, field, read_json, read_safetensors
from systolith.sw.reference.bert import BertWeights, EncoderLayerWeights, Norm
from systolith.sw.reference.weights import AttentionWeights, ModelError

#: Longest text in tokens, with the two tokens that the tokenizer adds: what sentence encoders of
#: this family were trained for.
MAX_TOKENS = 256

_FIELDS = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
           "intermediate_size", "max_position_embeddings", "layer_norm_eps")


@dataclass(frozen=True, kw_only=True)
class Encoder:
    """A sentence encoder with its tokenizer.

    Parameters
    ----------
    name : str
    weights : BertWeights
    tokenizer : tokenizers.Tokenizer
        WordPiece; it adds the tokens at both ends.
    samples : tuple of str
        Texts for calibration.
    """

    name: str
    weights: BertWeights
    tokenizer: Any
    samples: tuple[str, ...]

    @property
    def max_length(self) -> int:
        """Longest text in tokens."""
        return min(MAX_TOKENS, len(self.weights.positions))

    def encode(self, text: str, *, truncate: bool = False) -> list[int]:
        """Token ids of a text; with ``truncate`` the end of a long one is left out.

        Raises
        ------
        ModelError
            When the text is empty or too long.
        """
        if not text.strip():
            raise ModelError("the text is empty; give at least one word")
        ids = self.tokenizer.encode(text).ids
        if len(ids) > self.max_length:
            if not truncate:
                raise ModelError(f"the text has {len(ids)} tokens, but {self.name} takes at most "
                                 f"{self.max_length}; shorten it")
            ids = [*ids[:self.max_length - 1], ids[-1]]
        return ids

    def calibration(self) -> list[Sequence[int]]:
        """Token ids of the calibration texts."""
        return [self.encode(text) for text in self.samples]


def load_bert(folder: Path, name: str, samples: tuple[str, ...]) -> Encoder:
    """An encoder out of a folder with config.json, model.safetensors and tokenizer.json.

    Raises
    ------
    ModelError
        When a file is missing, cut short or of another architecture, a weight is no finite number,
        or the package ``tokenizers`` is not installed.
    """
    config = read_json(folder / "config.json")
    if config.get("model_type") != "bert" or config.get("hidden_act") != "gelu":
        raise ModelError(f"{folder / 'config.json'} has model_type {config.get('model_type')!r} "
                         f"and hidden_act {config.get('hidden_act')!r}; only 'bert' with 'gelu' "
                         "can be read")
    for key in _FIELDS:
        field(config, key, folder / "config.json")
    weights = bert_weights(read_safetensors(folder / "model.safetensors"), config)
    return Encoder(name=name, weights=weights, tokenizer=load_tokenizer(folder / "tokenizer.json"),
                   samples=samples)


def load_tokenizer(path: Path) -> Any:
    """A tokenizer that neither cuts texts nor fills them up."""
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise ModelError("package tokenizers is not installed; run: pip install tokenizers"
                         ) from None
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the package raises Exception itself
        raise ModelError(f"{path} cannot be read, it may be cut short: {error}; fetch it again"
                         ) from None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def bert_weights(checkpoint: Checkpoint, config: dict[str, Any]) -> BertWeights:
    """The weights of a BERT checkpoint."""
    d, place = config["hidden_size"], "embeddings."
    types = checkpoint.tensor(place + "token_type_embeddings.weight",
                              config.get("type_vocab_size", 2), d)
    positions = checkpoint.tensor(place + "position_embeddings.weight",
                                  config["max_position_embeddings"], d)
    return BertWeights(
        words=checkpoint.tensor(place + "word_embeddings.weight", config["vocab_size"], d),
        positions=positions + types[0], norm=_norm(checkpoint, place + "LayerNorm", d),
        layers=tuple(_layer(checkpoint, config, f"encoder.layer.{i}.")
                     for i in range(config["num_hidden_layers"])),
        epsilon=config["layer_norm_eps"])


def _norm(checkpoint: Checkpoint, name: str, size: int) -> Norm:
    return Norm(gain=checkpoint.tensor(name + ".weight", size),
                bias=checkpoint.tensor(name + ".bias", size))


def _layer(checkpoint: Checkpoint, config: dict[str, Any], prefix: str) -> EncoderLayerWeights:
    d, f = config["hidden_size"], config["intermediate_size"]

    def weight(name: str, rows: int, columns: int) -> Any:
        """A weight as (in, out); the file has (out, in)."""
        return checkpoint.tensor(f"{prefix}{name}.weight", columns, rows).T

    def bias(name: str, columns: int) -> Any:
        return checkpoint.tensor(f"{prefix}{name}.bias", columns)

    heads = config["num_attention_heads"]
    inner = {letter: f"attention.self.{name}" for letter, name in
             (("q", "query"), ("k", "key"), ("v", "value"))} | {"o": "attention.output.dense"}
    attention = AttentionWeights(
        **{f"w{letter}": weight(name, d, d) for letter, name in inner.items()},
        **{f"b{letter}": bias(name, d) for letter, name in inner.items()},
        heads=heads, kv_heads=heads, head_dim=d // heads, causal=False)
    return EncoderLayerWeights(
        attention=attention, norm1=_norm(checkpoint, prefix + "attention.output.LayerNorm", d),
        up=weight("intermediate.dense", d, f), up_bias=bias("intermediate.dense", f),
        down=weight("output.dense", f, d), down_bias=bias("output.dense", d),
        norm2=_norm(checkpoint, prefix + "output.LayerNorm", d))

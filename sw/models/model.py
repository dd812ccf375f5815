"""A loaded model: what the compiler and the command line need of it."""
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from systolith.sw.reference import llama
from systolith.sw.reference.weights import AttentionWeights, Floats, LlamaWeights, ModelError


@dataclass(frozen=True, kw_only=True)
class Model:
    """A decoder with its tokenizer.

    Parameters
    ----------
    name : str
    weights : LlamaWeights
    max_length : int
        Longest prompt in tokens.
    vocabulary : dict of str to int
        Token ids by text.
    tokenize : function of str
        Token ids; what is in no token must have been refused by ``unknown`` before.
    unknown : function of str
        The first character that no token covers, or None.
    detokenize : function of ids
        Text.
    prompts : tuple of str
        The default prompt, then those that calibrate. The first does not, so that the error
        on it is that of text which the scales have not seen.
    """

    name: str
    weights: LlamaWeights
    max_length: int
    tokenize: Callable[[str], list[int]]
    unknown: Callable[[str], str | None]
    detokenize: Callable[[Sequence[int]], str]
    prompts: tuple[str, ...]

    @property
    def layers(self) -> int:
        """Number of decoder layers."""
        return len(self.weights.layers)

    @property
    def width(self) -> int:
        """Elements of a position's residual."""
        return self.weights.embedding.shape[1]

    @property
    def vocabulary(self) -> int:
        """Number of tokens."""
        return self.weights.embedding.shape[0]

    @property
    def heads(self) -> int:
        """Query heads of a layer."""
        return self.weights.layers[0].attention.heads

    @property
    def kv_heads(self) -> int:
        """Key and value heads of a layer."""
        return self.weights.layers[0].attention.kv_heads

    @property
    def head_dim(self) -> int:
        """Elements of a head."""
        return self.weights.layers[0].attention.head_dim

    @property
    def default_prompt(self) -> str:
        """A prompt of the kind the model was trained on."""
        return self.prompts[0]

    def encode(self, text: str) -> list[int]:
        """Token ids of a prompt.

        Raises
        ------
        ModelError
            When it is empty, holds a character outside the vocabulary, or is too long.
        """
        if not text:
            raise ModelError("the prompt is empty; give at least one character")
        character = self.unknown(text)
        if character is not None:
            raise ModelError(
                f"character {character!r} at place {text.find(character)} of the prompt is outside "
                f"the vocabulary of {self.name} ({self.vocabulary} tokens); leave it out")
        ids = self.tokenize(text)
        self._check_ids(ids)
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """Text of token ids."""
        self._check_ids(ids)
        return self.detokenize(ids)

    def layer_input(self, ids: Sequence[int], layer: int) -> tuple[Floats, Floats]:
        """Residual x and normalized h, (T, d) float64 each, as attention of a layer gets them."""
        self._check_ids(ids)
        self._check_layer(layer)
        return llama.layer_input(ids, layer, self.weights)

    def attention(self, layer: int) -> AttentionWeights:
        """The attention weights of a layer."""
        self._check_layer(layer)
        return self.weights.layers[layer].attention

    def calibration(self, layer: int) -> list[tuple[Floats, Floats]]:
        """(x, h) of the model's calibration prompts at a layer."""
        return [self.layer_input(self.encode(prompt), layer) for prompt in self.prompts[1:]]

    def _check_layer(self, layer: int) -> None:
        if not 0 <= layer < self.layers:
            raise ModelError(f"layer {layer} is outside {self.name}, which has layers 0 to "
                             f"{self.layers - 1}")

    def _check_ids(self, ids: Sequence[int]) -> None:
        if not ids:
            raise ModelError("the prompt has no tokens; give at least one")
        if len(ids) > self.max_length:
            raise ModelError(f"the prompt has {len(ids)} tokens, but {self.name} takes at most "
                             f"{self.max_length}; shorten it")
        for place, token in enumerate(ids):
            if not 0 <= token < self.vocabulary:
                raise ModelError(f"token {token} at place {place} is outside the vocabulary of "
                                 f"{self.name}, which has tokens 0 to {self.vocabulary - 1}")

"""The byte level tokenizer that a GGUF file holds (Sennrich et al., 2016; Radford et al., 2019)."""
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from systolith.sw.models.checkpoint import field
from systolith.sw.reference.weights import ModelError

#: How texts are cut before pairs are merged, by the file's name for it: whether every digit stands
#: alone. All go on with GPT-2's cut.
DIGITS_ALONE = {"gpt-2": False, "smollm": True}

#: Kinds of tokens in the file that are never made of pairs: control, and of the user.
ADDED = (3, 4)


def byte_level_tokenizer(config: Mapping[str, Any], path: Path) -> Any:
    """A ``tokenizers.Tokenizer`` out of what a GGUF file says.

    Raises
    ------
    ModelError
        When the package ``tokenizers`` is not installed, an entry is missing, or the file's
        tokenizer is of another kind.
    """
    try:
        from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    except ImportError:
        raise ModelError("package tokenizers is not installed; run: "
                         "pip install 'systolith[smollm2]'") from None
    kind, cut = (field(config, f"tokenizer.ggml.{name}", path) for name in ("model", "pre"))
    if kind != "gpt2" or cut not in DIGITS_ALONE:
        raise ModelError(f"{path} has a tokenizer {kind!r} with cut {cut!r}; only 'gpt2' with "
                         f"{' or '.join(map(repr, DIGITS_ALONE))} can be read")
    tokens, merges, kinds = (field(config, f"tokenizer.ggml.{name}", path)
                             for name in ("tokens", "merges", "token_type"))
    tokenizer = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)},
                                     merges=[tuple(merge.split(" ")) for merge in merges]))
    bytes_ = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), bytes_]) if DIGITS_ALONE[cut] else bytes_
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False)
                                  for token, of in zip(tokens, kinds, strict=True)
                                  if of in ADDED])
    return tokenizer

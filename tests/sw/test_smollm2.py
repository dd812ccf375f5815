"""SmolLM2 out of its GGUF file: tokenizer, errors, and logits against those of transformers."""
import numpy as np
import pytest

from systolith.sw.models import ModelError, llamacpp, load_model, registry
from systolith.sw.models.byte_bpe import byte_level_tokenizer
from systolith.sw.models.llamacpp import load_gguf
from systolith.sw.reference import llama
from systolith.sw.reference.weights import HALVES
from tests.sw.smollm2 import load_smollm2

gguf = pytest.importorskip("gguf", reason="needs the package gguf: pip install gguf")


def tiny_file(path, **changes):
    """A file of one layer, width 8, 2 heads on 1, 4 tokens; ``changes`` leave out or replace."""
    rng = np.random.default_rng(0)
    writer = gguf.GGUFWriter(path, changes.get("architecture", "llama"))
    writer.add_embedding_length(8)
    writer.add_block_count(1)
    writer.add_feed_forward_length(16)
    writer.add_context_length(32)
    writer.add_head_count(2)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(changes.get("pre", "smollm"))
    writer.add_token_list(["<end>", "a", "b", "ab"])
    writer.add_token_merges(["a b"])
    writer.add_token_types([3, 1, 1, 1])
    shapes = {"token_embd": (4, 8), "output_norm": (8,), "blk.0.attn_norm": (8,),
              "blk.0.ffn_norm": (8,), "blk.0.attn_q": (8, 8), "blk.0.attn_k": (4, 8),
              "blk.0.attn_v": (4, 8), "blk.0.attn_output": (8, 8), "blk.0.ffn_gate": (16, 8),
              "blk.0.ffn_up": (16, 8), "blk.0.ffn_down": (8, 16)}
    for name, shape in shapes.items():
        if name != changes.get("without"):
            writer.add_tensor(f"{name}.weight", rng.normal(size=shape).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_missing_reader_is_named_before_the_file_is_fetched(monkeypatch):
    monkeypatch.setattr(llamacpp, "find_spec", lambda name: None)
    monkeypatch.setattr(registry, "unpacked", lambda *_: pytest.fail("the file was fetched"))
    with pytest.raises(ModelError, match="package gguf is not installed; run: pip install"):
        load_model("smollm2")


def test_a_small_file_is_read(tmp_path):
    model = load_gguf(tiny_file(tmp_path / "tiny.gguf"), "tiny", ("ab",))
    assert (model.layers, model.width) == (1, 8)
    assert (model.heads, model.kv_heads, model.head_dim) == (2, 1, 4)
    assert model.encode("abba<end>") == [3, 2, 1, 0]
    assert model.decode([3, 2, 1, 0]) == "abba<end>"
    logits = llama.forward([3, 2], model.weights)
    assert logits.shape == (2, 4)
    assert logits.dtype == np.float32


@pytest.mark.parametrize(("changes", "message"), [
    ({"architecture": "gpt2"}, "has architecture 'gpt2'; only 'llama' can be read"),
    ({"pre": "qwen2"}, "has a tokenizer 'gpt2' with cut 'qwen2'; only 'gpt2' with 'gpt-2' or"),
    ({"without": "blk.0.ffn_up"}, "has no tensor 'blk.0.ffn_up.weight' among its 10")])
def test_files_of_another_kind(tmp_path, changes, message):
    with pytest.raises(ModelError, match=message):
        load_gguf(tiny_file(tmp_path / "tiny.gguf", **changes), "tiny", ())


def test_no_file_and_a_file_cut_short(tmp_path):
    with pytest.raises(ModelError, match=r"there is no file .*none\.gguf"):
        load_gguf(tmp_path / "none.gguf", "none", ())
    path = tiny_file(tmp_path / "tiny.gguf")
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ModelError, match="it may be cut short"):
        load_gguf(path, "short", ())


def test_digits_stand_alone_only_where_the_file_says_so():
    config = {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.tokens": ["1", "2", "12"],
              "tokenizer.ggml.merges": ["1 2"], "tokenizer.ggml.token_type": [1, 1, 1]}
    for cut, ids in (("smollm", [0, 1]), ("gpt-2", [2])):
        assert byte_level_tokenizer({**config, "tokenizer.ggml.pre": cut}, "f").encode(
            "12").ids == ids


# The whole model -------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def smollm2():
    return load_smollm2()


@pytest.mark.slow
def test_tokenizer_of_the_model(smollm2):
    assert smollm2.tokenize("<|im_start|>user\nHello 123 world's<|im_end|>") == [
        1, 4093, 198, 19556, 216, 33, 34, 35, 905, 506, 2]
    for text in ("Zürich, 12 März 2024: 日本語 \U0001f600\t\n  x", *smollm2.prompts):
        assert smollm2.decode(smollm2.encode(text)) == text


@pytest.mark.slow
def test_it_knows_the_capital(smollm2):
    logits = llama.forward(smollm2.encode(smollm2.default_prompt), smollm2.weights)
    assert smollm2.decode([int(logits[-1].argmax())]) == " Paris"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["smollm2", "mathformer-add", "mathformer-sub", "mathformer-mul",
                                  "mathformer-div"])
def test_logits_are_those_of_transformers(name, request):
    reason = "needs torch and transformers: pip install 'systolith[compare]'"
    torch = pytest.importorskip("torch", reason=reason)
    pytest.importorskip("transformers", reason=reason)
    model = request.getfixturevalue("smollm2") if name == "smollm2" else load_model(name)
    foreign = foreign_model(model)
    for prompt in model.prompts[:3]:
        ids = model.encode(prompt)
        with torch.no_grad():
            expected = foreign(torch.tensor([ids])).logits[0].numpy()
        np.testing.assert_allclose(llama.forward(ids, model.weights), expected, atol=2e-3,
                                   rtol=1e-3)


def foreign_model(model):
    """The same weights in ``LlamaForCausalLM``."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    weights, first = model.weights, model.weights.layers[0]
    # The angle of the second pair at position 1 is base ** (-2 / head_dim).
    angle = np.arctan2(first.attention.sin[1, 1], first.attention.cos[1, 1])
    foreign = LlamaForCausalLM(LlamaConfig(
        vocab_size=model.vocabulary, hidden_size=model.width,
        intermediate_size=first.gate.shape[1], num_hidden_layers=model.layers,
        num_attention_heads=model.heads, num_key_value_heads=model.kv_heads,
        head_dim=model.head_dim, max_position_embeddings=model.max_length,
        rms_norm_eps=weights.epsilon, tie_word_embeddings=False,
        rope_theta=float(round(angle ** (-model.head_dim / 2)))))
    state = {"model.embed_tokens.weight": weights.embedding, "model.norm.weight": weights.norm,
             "lm_head.weight": weights.head.T}
    for index, layer in enumerate(weights.layers):
        w, prefix = layer.attention, f"model.layers.{index}."
        state |= {
            prefix + "input_layernorm.weight": layer.norm1,
            prefix + "post_attention_layernorm.weight": layer.norm2,
            prefix + "self_attn.q_proj.weight": halves(w.wq, w.heads, w).T,
            prefix + "self_attn.k_proj.weight": halves(w.wk, w.kv_heads, w).T,
            prefix + "self_attn.v_proj.weight": w.wv.T,
            prefix + "self_attn.o_proj.weight": w.wo.T,
            prefix + "mlp.gate_proj.weight": layer.gate.T,
            prefix + "mlp.up_proj.weight": layer.up.T,
            prefix + "mlp.down_proj.weight": layer.down.T}
    foreign.load_state_dict({name: torch.tensor(np.ascontiguousarray(tensor), dtype=torch.float32)
                             for name, tensor in state.items()})
    return foreign.eval()


def halves(weight, heads, attention):
    """Columns in the order of transformers, which pairs (i, i + head_dim / 2)."""
    if attention.pairs == HALVES:
        return weight
    pairs = weight.reshape(len(weight), heads, -1, 2)
    return pairs.transpose(0, 1, 3, 2).reshape(weight.shape)

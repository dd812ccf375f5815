"""Models by name, or by the path of a checkpoint."""
from importlib.util import find_spec
from pathlib import Path

from systolith.sw.models.glass import load_glass
from systolith.sw.models.huggingface import load_huggingface
from systolith.sw.models.model import Model
from systolith.sw.reference.weights import ModelError

#: Names and what they are.
MODELS = {
    "glassllm": "English decoder of 4 layers, width 128, 4 heads on 2 (package glassllm)",
    "glassllm-pt": "its Portuguese sister",
    "mathformer-add": "adding decoder of 1 layer, width 8, 2 heads (package mathformer)",
    "mathformer-sub": "its subtracting sister",
    "mathformer-mul": "its multiplying sister",
    "mathformer-div": "its dividing sister",
}

_ENGLISH = (
    "Alice was beginning to get very tired of sitting by her sister on the bank, and of having "
    "nothing to do.",
    "What a curious feeling! said Alice; I must be shutting up like a telescope.",
    "The Queen turned crimson with fury, and, after glaring at her for a moment like a wild beast, "
    "began screaming.",
)
_PORTUGUESE = (
    "Alice estava começando a ficar muito cansada de estar sentada ao lado de sua irmã.",
    "O que é isso? perguntou o homem, e não havia nada para fazer.",
    "Era uma vez um rei que tinha uma filha muito bonita.",
)
#: One problem of two digits first, then of one digit each.
_OPERANDS = ((12, 34), (99, 1), *((a, b) for a in range(10) for b in range(1 + a % 3, a + 1, 3)))
_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


def load_model(name: str) -> Model:
    """The model of that name, or of the checkpoint at that path.

    Parameters
    ----------
    name : str
        One of :data:`MODELS`; a glassllm ``.npz`` file with its ``.tokenizer.json`` beside it; or
        a folder with config.json, model.safetensors and vocab.json.

    Raises
    ------
    ModelError
        When there is no such model, its package is not installed, or a file cannot be used.
    """
    if name in MODELS:
        return _load_named(name)
    path = Path(name)
    if path.is_dir():
        return load_huggingface(path, path.name, ("12+34=",))
    if path.suffix == ".npz":
        return load_glass(path, path.stem, _ENGLISH)
    raise ModelError(f"unknown model {name!r}; choose one of {', '.join(MODELS)}, or give the path "
                     "of a .npz file or of a folder with model.safetensors")


def _load_named(name: str) -> Model:
    package, _, variant = name.partition("-")
    folder = _package_folder(package)
    if package == "glassllm":
        language = variant or "en"
        return load_glass(folder / "weights" / f"{language}.npz", name,
                          _ENGLISH if language == "en" else _PORTUGUESE)
    sign = _SIGNS[variant]
    prompts = tuple(f"{a}{sign}{b}=" for a, b in _OPERANDS)
    return load_huggingface(folder / f"{variant}former", name, prompts)


def _package_folder(package: str) -> Path:
    """Folder of an installed package, without importing it."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(f"package {package} is not installed; run: pip install {package}")
    return Path(next(iter(spec.submodule_search_locations)))

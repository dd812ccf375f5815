"""Reading checkpoint files: every tensor is there, has its shape, and is finite, or ModelError."""
import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file

from systolith.sw.reference.weights import Floats, ModelError, check_finite


class Checkpoint:
    """Named tensors of one file.

    Parameters
    ----------
    path : Path
        Where they come from, for messages.
    tensors : mapping of str to array
    dtype : type
        That of the tensors it gives: float64, which the reference is defined in, or float32 for
        models that are large.
    """

    def __init__(self, path: Path, tensors: Mapping[str, NDArray[Any]],
                 dtype: type[np.floating] = np.float64):
        self.path, self.dtype = path, dtype
        self._tensors = tensors

    def tensor(self, name: str, *shape: int) -> Floats:
        """The tensor of that name.

        Raises
        ------
        ModelError
            When it is missing, has another shape, or is not finite everywhere.
        """
        if name not in self._tensors:
            raise ModelError(f"{self.path} has no tensor {name!r} among its {len(self._tensors)}; "
                             "is it a checkpoint of another architecture?")
        tensor = self._tensors[name]
        if tensor.shape != shape:
            raise ModelError(f"{self.path}: {name} has shape {tensor.shape}, but the model's "
                             f"configuration needs {shape}")
        if not np.issubdtype(tensor.dtype, np.number):
            raise ModelError(f"{self.path}: {name} holds {tensor.dtype}, not numbers")
        check_finite(f"{self.path}: {name}", tensor)
        return tensor.astype(self.dtype)

    def has(self, name: str) -> bool:
        """Whether there is a tensor of that name."""
        return name in self._tensors


def read_npz(path: Path) -> tuple[Checkpoint, dict[str, Any]]:
    """A glassllm ``.npz`` file: (tensors, its configuration)."""
    try:
        with np.load(path, allow_pickle=False) as file:
            tensors = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise unreadable(path, error) from None
    if "__config__" not in tensors:
        raise ModelError(f"{path} has no entry '__config__'; it is no glassllm checkpoint")
    return Checkpoint(path, tensors), _json_object(path, str(tensors.pop("__config__")))


def read_safetensors(path: Path) -> Checkpoint:
    """A ``.safetensors`` file."""
    try:
        return Checkpoint(path, load_file(path))
    except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
        raise unreadable(path, error) from None


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object that belongs to a model."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None
    return _json_object(path, text)


def _json_object(path: Path, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise unreadable(path, error) from None
    if not isinstance(value, dict):
        raise ModelError(f"{path} must hold a JSON object, not a {type(value).__name__}")
    return value


def field(config: Mapping[str, Any], name: str, path: Path) -> Any:
    """An entry of a model's configuration; ModelError when it is missing."""
    if name not in config:
        raise ModelError(f"the configuration in {path} has no entry {name!r}")
    return config[name]


def check_positive(config: Mapping[str, Any], path: Path, *, whole: tuple[str, ...],
                   real: tuple[str, ...] = ()) -> None:
    """ModelError unless these entries are there and are positive integers, and positive numbers."""
    for name in (*whole, *real):
        value = field(config, name, path)
        kinds = (int,) if name in whole else (int, float)
        if not isinstance(value, kinds) or isinstance(value, bool) or not value > 0:
            kind = "integer" if name in whole else "number"
            raise ModelError(f"{name} in the configuration of {path} must be a positive {kind}, "
                             f"not {value!r}")


def unreadable(path: Path, error: Exception) -> ModelError:
    """What to raise for a file that a reader has refused."""
    if not path.exists():
        return ModelError(f"there is no file {path}")
    return ModelError(f"{path} ({path.stat().st_size} bytes) cannot be read, it may be cut short: "
                      f"{error}; fetch it again")

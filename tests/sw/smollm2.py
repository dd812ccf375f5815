"""SmolLM2 for tests that need the real model."""
import pytest

from systolith.sw.models import Model, ModelError, load_model
from systolith.sw.models.registry import smollm2_file


def load_smollm2() -> Model:
    """The model; the test is skipped where its file cannot be fetched, and for no other reason."""
    pytest.importorskip("gguf")
    try:
        smollm2_file()
    except ModelError as error:
        pytest.skip(f"the model cannot be had here: {error}")
    return load_model("smollm2")

"""The float forward pass against those of the models' own packages."""
from pathlib import Path

import glassllm
import numpy as np
import pytest

from systolith.sw.models import load_model
from systolith.sw.reference import llama

mathformer = pytest.importorskip("mathformer")


@pytest.mark.parametrize(("name", "language"), [("glassllm", "en"), ("glassllm-pt", "pt")])
def test_glassllm_logits_and_layer_inputs(name, language):
    model = load_model(name)
    foreign, _ = glassllm.load_pretrained(language)
    ids = model.encode(model.default_prompt)
    tracer = glassllm.Tracer()
    with glassllm.no_grad():
        expected = foreign.forward(ids, trace=tracer).data[0]
    np.testing.assert_allclose(llama.forward(ids, model.weights), expected, atol=2e-5)
    for layer in range(model.layers):
        _, h = model.layer_input(ids, layer)
        step = next(record for record in tracer.records
                    if record.id == "norm.attn" and record.layer == layer)
        np.testing.assert_allclose(h, np.asarray(step.value).reshape(h.shape), atol=2e-5)


@pytest.mark.parametrize("kind", ["add", "sub", "mul", "div"])
def test_mathformer_logits(kind):
    from mathformer.llama import TinyLlama

    model = load_model(f"mathformer-{kind}")
    foreign = TinyLlama(str(Path(mathformer.__file__).parent / f"{kind}former"))
    for prompt in model.prompts:
        ids = model.encode(prompt)
        expected, _ = foreign.forward(ids)
        np.testing.assert_allclose(llama.forward(ids, model.weights)[-1], expected, atol=1e-9)

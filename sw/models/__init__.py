"""Pretrained models: their files, tokenizers and the inputs of their layers."""
from systolith.sw.models.model import Model
from systolith.sw.models.registry import INCLUDED, MODELS, load_model
from systolith.sw.reference.weights import AttentionWeights, ModelError

__all__ = ["INCLUDED", "MODELS", "AttentionWeights", "Model", "ModelError", "load_model"]

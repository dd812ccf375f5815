"""Sentence encoders: from weights and sample texts to programs and embeddings."""
from systolith.sw.encoder.compiled import CompiledEncoder, EmbeddingResult, compile_encoder
from systolith.sw.encoder.mesh import CompiledMeshEncoder, compile_encoder_mesh
from systolith.sw.encoder.pipeline import CompiledPipeline, compile_encoder_pipeline
from systolith.sw.encoder.quantize import quantize_encoder
from systolith.sw.encoder.scales import EncoderScales, calibrate_encoder
from systolith.sw.encoder.session import EncoderSession, quantized_encoder

__all__ = ["CompiledEncoder", "CompiledMeshEncoder", "CompiledPipeline", "EmbeddingResult",
           "EncoderScales", "EncoderSession", "calibrate_encoder", "compile_encoder",
           "compile_encoder_mesh", "compile_encoder_pipeline", "quantize_encoder",
           "quantized_encoder"]

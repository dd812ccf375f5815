"""Sentence encoders: from weights and sample texts to programs and embeddings."""
from systolith.sw.encoder.compiled import CompiledEncoder, EmbeddingResult, compile_encoder
from systolith.sw.encoder.mesh import CompiledMeshEncoder, compile_encoder_mesh
from systolith.sw.encoder.pipeline import CompiledPipeline, compile_encoder_pipeline
from systolith.sw.encoder.placement import compile_encoder_placed
from systolith.sw.encoder.quantize import quantize_encoder
from systolith.sw.encoder.scales import EncoderScales, calibrate_encoder
from systolith.sw.encoder.session import EncoderSession, quantized_encoder
from systolith.sw.encoder.side_by_side import SideBySideEncoder, compile_encoder_side_by_side

__all__ = ["CompiledEncoder", "CompiledMeshEncoder", "CompiledPipeline", "EmbeddingResult",
           "EncoderScales", "EncoderSession", "SideBySideEncoder", "calibrate_encoder",
           "compile_encoder", "compile_encoder_mesh", "compile_encoder_pipeline",
           "compile_encoder_placed", "compile_encoder_side_by_side", "quantize_encoder",
           "quantized_encoder"]

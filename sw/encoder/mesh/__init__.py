"""Encoders on the cores of a mesh: each core has some heads and some columns of every product."""
from systolith.sw.encoder.mesh.compile import CompiledMeshEncoder, compile_encoder_mesh

__all__ = ["CompiledMeshEncoder", "compile_encoder_mesh"]

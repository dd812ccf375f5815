"""Whole decoders on the machine: quantize, lay out, lower, and run token by token."""
from systolith.sw.decoder.compile import compile_decoder
from systolith.sw.decoder.compiled import CompiledDecoder
from systolith.sw.decoder.mesh import MeshDecoder, MeshSession, open_session
from systolith.sw.decoder.session import ContextError, Session, StepResult
from systolith.sw.decoder.side_by_side import SideBySideSession, Together

__all__ = ["CompiledDecoder", "ContextError", "MeshDecoder", "MeshSession", "Session",
           "SideBySideSession", "StepResult", "Together", "compile_decoder", "open_session"]

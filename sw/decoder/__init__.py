"""Whole decoders on the machine: quantize, lay out, lower, and run token by token."""
from systolith.sw.decoder.compiled import CompiledDecoder, compile_decoder
from systolith.sw.decoder.session import ContextError, Session, StepResult

__all__ = ["CompiledDecoder", "ContextError", "Session", "StepResult", "compile_decoder"]

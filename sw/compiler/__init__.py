"""From a float model to a program: calibrate, quantize, plan, lower, schedule, verify."""
from systolith.sw.compiler.attention import compile_attention
from systolith.sw.compiler.calibrate import Calibration, calibrate
from systolith.sw.compiler.compiled import AttentionResult, CompiledAttention
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.product import CompiledProduct, ProductResult, compile_product

__all__ = ["AttentionResult", "Calibration", "CompileError", "CompiledAttention", "CompiledProduct",
           "ProductResult", "calibrate", "compile_attention", "compile_product"]

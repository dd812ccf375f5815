"""The cycle model: how long a program takes, and why, without the hardware."""
from systolith.sw.estimate.estimate import estimate
from systolith.sw.estimate.external import MEMORIES, ExternalMemory, external_memory
from systolith.sw.estimate.mesh import MeshEstimate, estimate_mesh
from systolith.sw.estimate.result import Estimate, Timing

__all__ = ["MEMORIES", "Estimate", "ExternalMemory", "MeshEstimate", "Timing", "estimate",
           "estimate_mesh", "external_memory"]

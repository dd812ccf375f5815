"""Angles of rotary position embeddings."""
import numpy as np

from systolith.sw.reference.weights import Floats


def rotary_angles(positions: int, head_dim: int, base: float) -> tuple[Floats, Floats]:
    """cos and sin of ``position * base ** (-2 i / head_dim)``, shape (positions, head_dim / 2)."""
    frequency = base ** (-2.0 * np.arange(head_dim // 2) / head_dim)      # (hd / 2,)
    angle = np.arange(positions)[:, None] * frequency                     # (positions, hd / 2)
    return np.cos(angle), np.sin(angle)

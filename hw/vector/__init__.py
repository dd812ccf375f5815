"""The vector unit: one configurable pass over a tile."""

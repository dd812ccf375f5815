"""Formal proofs of the hardware: properties checked for every input, not for those of a test."""

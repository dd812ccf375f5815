"""Proofs of the mesh."""

"""NumPy definitions of every operation, and whole models."""

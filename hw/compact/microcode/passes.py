"""The VECTOR engine of a core without a vector unit: its commands stop the core as ILLEGAL."""

PASSES = """
vector:
    jump illegal
"""

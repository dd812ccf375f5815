"""Tests of the cycle model; those against the RTL are in ``tests/system``."""

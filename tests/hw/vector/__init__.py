"""Tests of the vector unit, block by block and whole."""

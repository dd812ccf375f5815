"""Tests of systolith.hw."""

"""Tests of systolith.sim."""

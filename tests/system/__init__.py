"""Tests of systolith.system."""

"""Tests of systolith.sw."""
